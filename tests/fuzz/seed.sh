#!/usr/bin/env bash
# Fills the corpora with what tests/data has, in the form that each target takes. What is there already stays.
set -euo pipefail
cd "$(dirname "$0")"
data=../data

# put TARGET FIRST-BYTES: standard input, behind these bytes, is a seed; it is named by what it is.
put() {
  mkdir -p "corpus/$1"
  local seed
  seed=$(mktemp)
  { printf "$2"; cat; } >"$seed"
  mv "$seed" "corpus/$1/$(sha1sum <"$seed" | cut -c1-16)"
}

# Journals, and each of their first lines; a byte names the shape, another the length of a chunk.
number=0
for name in sessions cases facts; do
  for file in "$data"/daemon/{small,legacy}/data/$name.jsonl "$data"/daemon/torn/*/data/$name.jsonl \
    "$data/after-crash/$name.jsonl"; do
    [ -f "$file" ] || continue
    for chunk in '\x00' '\x0b' '\xff'; do
      head -c 8000 "$file" | put line "\\x0$number$chunk"
    done
    head -n 40 "$file" | while IFS= read -r line; do
      printf '%s\n' "$line" | put line "\\x0$number\\x05"
    done
  done
  number=$((number + 1))
done
printf '%s\n' '{"op":"reuse","case_id":"c","times":1,"used_at":"2026-01-01T00:00:00Z"}' '{"op":"delete","case_id":"c"}' |
  put line '\x03\x05'
printf '%s\n' '{"op":"handoff","content_hash":"h","state":"open","session_id":"s","source_agent":"a","key_id":"k","session":true,"fact_ids":["f"],"sessions_bytes":1,"facts_bytes":1,"heads_before":[],"times":1,"begun_at":"2026-01-01T00:00:00Z"}' |
  put line '\x04\x05'
printf '%s\n' '{"op":"store","public_key":"p","agent":"a","added_at":"2026-01-01T00:00:00Z"}' \
  '{"op":"delete","public_key":"p","removed_at":"2026-01-01T00:00:00Z"}' | put line '\x05\x05'

# Envelopes, and their payloads.
for file in "$data"/envelopes/[0-9]*.json "$data/envelopes/ed25519.json"; do
  put envelope '\x00' <"$file"
  for how in '\x01' '\x02'; do
    sed -n 's/.*"payload_b64":"\([^"]*\)".*/\1/p' "$file" | base64 -d 2>/dev/null | put envelope "$how" || true
  done
done
printf '%s' '{"content":[{"type":"text","text":"{}"}]}' | put envelope '\x00'
printf '\x00\x05\x00x' | put envelope '\x03'
printf '\x00\x05\x01\x03' | put envelope '\x04'

# Cases as they are given, by record and by import.
cases=(
  '{"task":"t one","action":"a","outcome":"o"}'
  '{"task":"t","action":"a","outcome":"o","context":"c","success":false,"reward":0.25,"tags":["x","y"],"source_receipt":"r"}'
  '{"task":"t","action":"a","outcome":"o","case_id":"c_1","created_at":"2026-01-01T00:00:00.5+02:00","times_reused":3}'
  '{"task":"\u00e9\ud83d\ude80\n","action":"","outcome":"\u2028","reward":-1e300}'
  '{"task":1}' '[]' 'null' '{"task":"t","action":"a","outcome":"o","more":1}'
)
for case in "${cases[@]}"; do
  printf '%s' "$case" | put record_case '\x00'
  printf '%s\n' "$case" | put record_case '\x01'
done
printf '%s\n' "${cases[@]}" | put record_case '\x01'

# States; a byte names the limit. Pairs of them are what a diff takes.
states=(
  '{"step":1}' '[1, 2.50, -0.0, 1e400]' ' {"a" : [ {} , [] ],
 "b":"x\ty" } ' '"\ud83d"' '"\ud83d\ude80"' '1' 'null' '{"a":1,"a":2,"b":{"c":[1,2,3]}}' '[[[[1,2],3],4],5]'
  '{"b":{"c":[1,3]},"a":2,"\u0061":1}' '[true,false,"tr\u0075e"]'
)
for state in "${states[@]}"; do
  for most in 0 1 2 4; do
    printf '%s' "$state" | put state "\\x0$most"
  done
  printf '%s\xf8\xf9' "$state" | put state '\x03'
  printf '\xf9%s\xfa"' "{\"a\":\"" | put state '\x04'
  for other in "${states[@]}"; do
    printf '%s\xff%s' "$state" "$other" | put diff ''
  done
done
# What a line break keeps apart must not become one word.
for text in '1\n2' '1\ne5' 'tr\nue' '-\n1' '[1\n.5]' '"a\nb"'; do
  printf -- "$text" | put state '\x00'
done
printf '\xfb' | put state '\x05'
printf '[\xfb\xf9 1]' | put state '\x05'
printf '[\xfb 1]' | put state '\x04'
head -c 4000 "$data/retrieve/cases.jsonl" | head -n 3 | while IFS= read -r line; do
  printf '%s\xff%s' "$line" "$line" | put diff ''
done

for target in corpus/*; do
  echo "$(basename "$target"): $(find "$target" -type f | wc -l) seeds"
done
