# Certificates: what the command writes is verified by check_certificate, and what was changed is not.
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/kit.sh"

check 0 '^usage: check_certificate' - --help
check 2 - '^usage: check_certificate'
check 1 - '^check_certificate: absent: ' absent
printf 'poem\n' >poem
check 1 - "^check_certificate: poem:1: the first line must be 'egraph-certificate 1 KIND'" poem

# ---- plain ----
cat >share.json <<'X2'
{"nodes": {"r": {"op": "f", "children": ["a", "b"], "eclass": "root class", "cost": 0},
  "a": {"op": "g", "children": ["s"], "eclass": "A", "cost": 1}, "a2": {"op": "h", "eclass": "A", "cost": 3},
  "b": {"op": "g", "children": ["s"], "eclass": "B", "cost": 1}, "b2": {"op": "h", "eclass": "B", "cost": 3},
  "s": {"op": "x", "eclass": "S", "cost": 3}}, "root_eclasses": ["root class"]}
X2
printf '{"nodes": {"a": {"eclass": "c", "children": ["b"]}, "b": {"eclass": "d", "children": ["a"]}}, "root_eclasses": ["c"]}' >none.json
cat >negative.json <<'X2'
{"nodes": {"r": {"eclass": "r", "children": ["a", "b"], "cost": 0}, "a0": {"eclass": "a", "cost": 0},
  "a": {"eclass": "a", "children": ["p"], "cost": 2}, "b0": {"eclass": "b", "cost": 0},
  "b": {"eclass": "b", "children": ["p"], "cost": 1.5}, "p": {"eclass": "p", "cost": -2}}, "root_eclasses": ["r"]}
X2
gzip -c share.json >share2.json.gz
expect 0 '^certificate share.cert proves the bound' - extract share.json --certificate share.cert
check 0 '^verified: optimal' - share.cert share.json
check 0 '^cost +5$' - share.cert share2.json.gz
gzip -c share.cert >share.cert.gz
check 0 '^bound +5$' - share.cert.gz share2.json.gz
check 1 - 'needs the file of the problem' share.cert
check 1 - 'is of a problem with 6 nodes' share.cert none.json
expect 0 '"certified":5,"bound_unchecked":false' - extract share.json --json --certificate share.cert
expect 0 '^certificate told.cert proves the bound' - extract share.json --statistics --certificate told.cert
check 0 '^verified: optimal' - told.cert share.json
expect 0 infeasible - extract none.json --certificate none.cert
check 0 '^verified: infeasible' - none.cert none.json
expect 0 'bound unchecked: it proves only -' - extract negative.json --certificate negative.cert
check 0 '^verified: gap at most' - negative.cert negative.json
expect 0 feasible - extract share.json --extractor tree --certificate tree.cert
check 0 '^verified' - tree.cert share.json
expect 1 - 'folder/x' extract share.json --certificate no/folder/x

for change in 's/^cost 5/cost 4/' 's/^bound 5/bound 6/' 's/^choice 4 0/choice 3 /' '/^closed/d' 's/^cut 2/cut 9/' \
  's/^bound$/bind/' '$a closed' 's/^cut 2 0/cut 2/' 's/^problem 6/problem 7/'; do
  sed "$change" share.cert >changed.cert
  check 1 - '^check_certificate: changed.cert:[0-9]+: ' changed.cert share.json
done
sed 's/"cost": 3/"cost": 2/' share.json >cheaper.json
check 1 - 'changed|costs' share.cert cheaper.json
sed 's/"cost": 1}/"cost": x}/' share.json >broken.json
check 1 - '^check_certificate: broken.json:2: ' share.cert broken.json
finish
