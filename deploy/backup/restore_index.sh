# Makes an archive of an index (a .tgz, from standard input) the data of the stopped service of this folder. What was
# there goes last: an archive that ends too soon leaves everything as it was.
set -eu
rm -rf .incoming
mkdir .incoming
tar -C .incoming --exclude=./lost+found -xSzf -
test -n "$(ls -A .incoming)" || { echo "The archive is empty." >&2; exit 1; }
find . -mindepth 1 -maxdepth 1 ! -name .incoming ! -name lost+found -exec rm -rf {} +
find .incoming -mindepth 1 -maxdepth 1 -exec mv {} . \;
rmdir .incoming
