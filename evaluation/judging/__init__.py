"""Rule-based judging of answers against a known truth; each module knows one type of answer."""
