# Makes a Redis snapshot (an RDB file, from standard input) what the stopped Redis of this folder starts with.
# With an append-only file Redis reads no dump.rdb, so the snapshot becomes the base of a new append-only file
# (Redis 7 and later keep a base, increments and a manifest that names them). What was there goes last.
set -eu
rm -rf incoming
mkdir incoming
cat > incoming/appendonly.aof.1.base.rdb
echo "file appendonly.aof.1.base.rdb seq 1 type b" > incoming/appendonly.aof.manifest
test -s incoming/appendonly.aof.1.base.rdb || { echo "The snapshot is empty." >&2; exit 1; }
redis-check-aof incoming/appendonly.aof.manifest >&2
rm -rf appendonlydir
mv incoming appendonlydir
