//! Examples for the help and the manual. Each runs as it stands.

/// For each command path: a line that says what it does, and the line to type.
pub const EXAMPLES: &[(&str, &[(&str, &str)])] = &[
    (
        "cruxctl",
        &[
            ("See whether the journals are whole", "cruxctl journal check"),
            (
                "Store a state, and read it back",
                "echo '{\"step\":1}' | cruxctl session put build-42; cruxctl session get build-42",
            ),
        ],
    ),
    (
        "cruxctl doctor",
        &[
            ("What is here, and what is to be done?", "cruxctl doctor"),
            ("Only what is to be done", "cruxctl doctor --json | jq -r '.next[]'"),
        ],
    ),
    ("cruxctl session", &[("What is an agent doing?", "cruxctl session list --agent alice")]),
    (
        "cruxctl session put",
        &[
            ("Store a state for an hour and a half", "echo '{\"step\":1}' | cruxctl session put build-42 --ttl 90m"),
            ("Store a file's JSON as agent alice", "cruxctl session put build-42 --agent alice --file state.json"),
            ("Remember what it is now", "hash=$(cruxctl session show build-42 --json | jq -r .hash)"),
            (
                "Change it only if nobody else has",
                "echo '{\"step\":2}' | cruxctl session put build-42 --if-match $hash",
            ),
        ],
    ),
    (
        "cruxctl session get",
        &[
            ("Print a state", "cruxctl session get build-42"),
            ("One member of it", "cruxctl session get build-42 | jq .step"),
            ("What was it an hour ago?", "cruxctl session get build-42 --at 1h"),
        ],
    ),
    (
        "cruxctl session show",
        &[("When does it expire, and where is it in the journal?", "cruxctl session show build-42")],
    ),
    (
        "cruxctl session list",
        &[
            ("Every session of every agent", "cruxctl session list --all-agents --all"),
            ("The ids of the ten largest", "cruxctl session list --sort size --limit 10 --format id"),
            ("Written within two hours", "cruxctl session list --since 2h"),
        ],
    ),
    (
        "cruxctl session history",
        &[
            ("What was it, and when?", "cruxctl session history build-42"),
            (
                "How large was each version?",
                "cruxctl session history build-42 --json | jq '.versions[] | [.rev, .bytes]'",
            ),
        ],
    ),
    (
        "cruxctl session diff",
        &[
            ("What did the last write change?", "cruxctl session diff build-42"),
            ("What changed between two versions?", "cruxctl session diff build-42 1 2"),
        ],
    ),
    (
        "cruxctl session restore",
        &[
            ("What would come back?", "cruxctl session restore build-42 --rev 1 --dry-run"),
            ("Bring back the first version", "cruxctl session restore build-42 --rev 1"),
            ("Bring back what was there an hour ago", "cruxctl session restore build-42 --at 1h"),
        ],
    ),
    ("cruxctl session delete", &[("Delete one", "cruxctl session delete build-42")]),
    ("cruxctl session archive", &[("Hide one, and say why", "cruxctl session archive build-42 --reason done")]),
    ("cruxctl session unarchive", &[("Bring it back", "cruxctl session unarchive build-42")]),
    (
        "cruxctl session reap",
        &[
            ("What would go?", "cruxctl session reap --dry-run"),
            ("Delete what has expired", "cruxctl session reap --all-agents"),
        ],
    ),
    ("cruxctl case", &[("What worked the last time?", "cruxctl case retrieve \"fix the flaky deploy test\"")]),
    (
        "cruxctl case record",
        &[
            (
                "Record what worked",
                "cruxctl case record --task \"fix the flaky deploy test\" --action \"raised the timeout\" --outcome green",
            ),
            (
                "Record what did not, from a script",
                "jq -n '{task:\"deploy\",action:\"a\",outcome:\"o\",success:false,reward:0}' | cruxctl case record",
            ),
        ],
    ),
    (
        "cruxctl case import",
        &[
            (
                "Take over the cases of another directory",
                "cruxctl journal export cases --data-dir old | cruxctl case import",
            ),
            ("All of them or none", "cruxctl case import --atomic CASES.jsonl"),
        ],
    ),
    (
        "cruxctl case retrieve",
        &[
            (
                "The three best precedents that worked",
                "cruxctl case retrieve \"deploy the canary\" -k 3 --only-success",
            ),
            ("Leave out what has little in common", "cruxctl case retrieve \"deploy the canary\" --min-score 0.3"),
            ("Where all tasks begin alike", "cruxctl case retrieve \"deploy the canary\" --rank weighted"),
            ("How often the same was tried", "cruxctl case retrieve \"deploy the canary\" --fold"),
            (
                "The best one's action",
                "cruxctl case retrieve \"deploy the canary\" -k 1 --json | jq -r .cases[0].action",
            ),
        ],
    ),
    ("cruxctl case show", &[("Everything about one case", "cruxctl case show c_8ec071daa7a142d685c8dc850cfcc7e8")]),
    (
        "cruxctl case list",
        &[
            ("What went wrong today", "cruxctl case list --only-failed --since 24h"),
            ("The ids of all with a tag", "cruxctl case list --tag deploy --format id"),
        ],
    ),
    (
        "cruxctl case reuse",
        &[
            ("Say that a precedent was used", "cruxctl case reuse c_8ec071daa7a142d685c8dc850cfcc7e8"),
            (
                "Count the best one that worked",
                "cruxctl case reuse $(cruxctl case retrieve \"deploy the canary\" -k 1 --only-success --format id)",
            ),
        ],
    ),
    ("cruxctl case delete", &[("Delete one", "cruxctl case delete c_8ec071daa7a142d685c8dc850cfcc7e8")]),
    (
        "cruxctl handoff",
        &[(
            "One secret for both sides",
            "cruxctl handoff keygen handoff.key; export CRUX_MCP_HANDOFF_SECRET=\"$(cat handoff.key)\"",
        )],
    ),
    (
        "cruxctl handoff create",
        &[
            (
                "Hand a session over to bob",
                "cruxctl handoff create build-42 --agent alice --target bob --key-file handoff.key > envelope.json",
            ),
            (
                "Mint here, verify there: no step may fail unseen",
                "set -o pipefail; cruxctl handoff create build-42 | cruxctl handoff verify | jq -e .session_id",
            ),
            (
                "Sign it, so that bob knows who it comes from",
                "cruxctl handoff create build-42 --agent alice --sign-key alice.key > envelope.json",
            ),
        ],
    ),
    (
        "cruxctl handoff verify",
        &[
            ("What does a good envelope hand over?", "cruxctl handoff verify envelope.json --agent bob --json"),
            (
                "Its payload, made within the last hour, or nothing",
                "cruxctl handoff verify --key-file handoff.key --max-age 1h < envelope.json > package.json",
            ),
            ("Only what alice has signed", "cruxctl handoff verify --trusted alice=alice.key.pub envelope.json"),
            (
                "While a secret is being changed",
                "cruxctl handoff verify --key-file new.key --key-file old.key envelope.json",
            ),
        ],
    ),
    (
        "cruxctl handoff accept",
        &[
            (
                "Take over what alice was doing",
                "cruxctl handoff accept --agent bob --key-file handoff.key envelope.json",
            ),
            (
                "From one data directory into another",
                "cruxctl handoff create build-42 --agent alice --target bob --key-file handoff.key | cruxctl handoff accept --agent bob --key-file handoff.key --data-dir there",
            ),
        ],
    ),
    (
        "cruxctl handoff list",
        &[
            ("What was accepted here?", "cruxctl handoff list"),
            ("What was begun and not completed?", "cruxctl handoff list --open"),
        ],
    ),
    (
        "cruxctl handoff abandon",
        &[(
            "Give up the one that is half accepted",
            "cruxctl handoff abandon $(cruxctl handoff list --open --format id)",
        )],
    ),
    (
        "cruxctl handoff inspect",
        &[("What does an envelope say, whoever made it?", "cruxctl handoff inspect envelope.json")],
    ),
    (
        "cruxctl handoff keygen",
        &[
            ("A secret, as the daemon takes it", "cruxctl handoff keygen handoff.key"),
            ("A pair of keys: alice.key signs, alice.key.pub verifies", "cruxctl handoff keygen --ed25519 alice.key"),
        ],
    ),
    ("cruxctl handoff trust", &[("Whose signatures are trusted?", "cruxctl handoff trust list")]),
    ("cruxctl handoff trust add", &[("Trust alice's key", "cruxctl handoff trust add alice alice.key.pub")]),
    ("cruxctl handoff trust list", &[("Which keys does who have?", "cruxctl handoff trust list")]),
    ("cruxctl handoff trust remove", &[("None of alice's keys any more", "cruxctl handoff trust remove alice")]),
    ("cruxctl journal", &[("After a crash", "cruxctl journal check")]),
    (
        "cruxctl journal check",
        &[
            ("All journals", "cruxctl journal check"),
            ("One, as the daemon would see it", "cruxctl journal check sessions --for-daemon"),
            ("For a monitor", "cruxctl journal check --json --quiet"),
        ],
    ),
    (
        "cruxctl journal repair",
        &[
            ("See the plan", "cruxctl journal repair sessions"),
            ("Carry it out", "cruxctl journal repair sessions --apply"),
            ("Unattended: only if little is set aside", "cruxctl journal repair --apply --max-loss-bytes 65536"),
        ],
    ),
    (
        "cruxctl journal show",
        &[
            ("The line that check has named", "cruxctl journal show sessions --line 36"),
            ("Everything about one session", "cruxctl journal show sessions --id build-42"),
        ],
    ),
    (
        "cruxctl journal log",
        &[
            ("What happened in the last hour?", "cruxctl journal log --since 1h"),
            ("What happened to one session?", "cruxctl journal log sessions --id build-42"),
            ("What was deleted?", "cruxctl journal log --op delete"),
            ("Watch", "cruxctl journal log --last 10 --follow"),
        ],
    ),
    (
        "cruxctl journal compact",
        &[
            ("What would it save?", "cruxctl journal compact sessions --dry-run"),
            ("Do it, with the daemon stopped", "cruxctl journal compact sessions"),
        ],
    ),
    (
        "cruxctl journal export",
        &[
            ("Every live case, for jq", "cruxctl journal export cases | jq -c '{case_id, task}'"),
            ("Ids only", "cruxctl journal export facts --format id"),
        ],
    ),
    (
        "cruxctl journal stat",
        &[
            ("How large, how old, and how much of it is dead?", "cruxctl journal stat"),
            ("The ten sessions that take the most", "cruxctl journal stat sessions --format id"),
        ],
    ),
    (
        "cruxctl journal map",
        &[
            ("Where is the damage?", "cruxctl journal map"),
            ("One journal, closer", "cruxctl journal map sessions --cells 512"),
        ],
    ),
    (
        "cruxctl journal report",
        &[
            ("A page to look at, or to send", "cruxctl journal report --html report.html"),
            ("Of one journal, through a pipe", "cruxctl journal report --html - sessions | gzip > report.html.gz"),
        ],
    ),
    ("cruxctl fact", &[("What is known about the canary?", "cruxctl fact query canary")]),
    (
        "cruxctl fact store",
        &[
            ("Store what is known", "cruxctl fact store --entity deploy:canary --key status --value green"),
            (
                "For one agent's eyes, for as long as it holds",
                "cruxctl fact store --entity notes --key api --value slow --private --agent alice --valid-to 2026-12-31T00:00:00Z",
            ),
            ("From JSON", "echo '{\"entity\":\"e\",\"key\":\"k\",\"value\":\"v\"}' | cruxctl fact store"),
        ],
    ),
    (
        "cruxctl fact show",
        &[("All that is said of one", "cruxctl fact show $(cruxctl fact list --limit 1 --format id)")],
    ),
    (
        "cruxctl fact list",
        &[
            ("What an agent knows", "cruxctl fact list --agent alice"),
            ("Everything, deleted facts and all agents' too", "cruxctl fact list --deleted --all-agents"),
        ],
    ),
    (
        "cruxctl fact query",
        &[
            ("By words", "cruxctl fact query canary rollout"),
            (
                "What was the status a week ago?",
                "cruxctl fact query --entity deploy:canary --key status --as-of 7days",
            ),
        ],
    ),
    ("cruxctl fact history", &[("Every version", "cruxctl fact history deploy:canary status")]),
    (
        "cruxctl fact delete",
        &[("Delete one", "cruxctl fact delete $(cruxctl fact query canary --limit 1 --format id)")],
    ),
    (
        "cruxctl fact supersede",
        &[
            ("Another takes its place", "cruxctl fact supersede $OLD --by $NEW"),
            ("None does any more", "cruxctl fact supersede $OLD --clear"),
        ],
    ),
    (
        "cruxctl fact validity",
        &[("It holds until the end of the year", "cruxctl fact validity $ID --to 2026-12-31T00:00:00Z")],
    ),
    (
        "cruxctl durable",
        &[
            (
                "A session for an order, an input, a worker, and the result",
                "cruxctl durable open --target checkout --kind flow --key order-42; \
                 input=$(echo '{\"order\":42}' | cruxctl durable send --target checkout --key order-42 --format id); \
                 cruxctl durable work -- jq -s length; cruxctl durable result --input $input",
            ),
            ("What waits?", "cruxctl durable list --status running"),
        ],
    ),
    (
        "cruxctl durable open",
        &[("A session for a customer", "cruxctl durable open --target support --kind agent --key customer-42")],
    ),
    (
        "cruxctl durable get",
        &[("Which session is it?", "cruxctl durable get --target support --key customer-42 --format id")],
    ),
    (
        "cruxctl durable fork",
        &[("Go on in a child", "cruxctl durable fork --target support --key customer-42 --format id")],
    ),
    ("cruxctl durable forks", &[("The children of a session", "cruxctl durable forks --session $SESSION")]),
    (
        "cruxctl durable send",
        &[
            (
                "Send an input, and keep its id",
                "input=$(echo '{\"text\":\"hello\"}' | cruxctl durable send --session $SESSION --format id)",
            ),
            (
                "Send it once, however often the script runs",
                "cruxctl durable send --session $SESSION --file order.json --idempotency-key order-42",
            ),
        ],
    ),
    (
        "cruxctl durable send-many",
        &[("All lines or none", "cruxctl durable send-many --session $SESSION --file inputs.jsonl")],
    ),
    (
        "cruxctl durable work",
        &[
            ("Work off what waits, and end", "cruxctl durable work -- ./answer.sh"),
            (
                "Go on for ever; a command may take a minute, and fail five times",
                "cruxctl durable work --target checkout --follow --timeout 1m --max-attempts 5 -- ./checkout.sh",
            ),
            ("The inputs come one to a line", "cruxctl durable work -- jq -sc 'map(.order)'"),
        ],
    ),
    (
        "cruxctl durable claim",
        &[(
            "Claim what waits, for ten minutes",
            "cruxctl durable claim --session $SESSION --lease 10m --json > claim.json",
        )],
    ),
    (
        "cruxctl durable renew",
        &[("Ten more minutes", "cruxctl durable renew --work $WORK --fence $FENCE --lease 10m")],
    ),
    (
        "cruxctl durable release",
        &[("Somebody else shall try, in a minute", "cruxctl durable release --work $WORK --fence $FENCE --delay 1m")],
    ),
    (
        "cruxctl durable checkpoint",
        &[(
            "Keep the result before it is committed",
            "./answer.sh | cruxctl durable checkpoint --work $WORK --fence $FENCE",
        )],
    ),
    (
        "cruxctl durable complete",
        &[
            ("Commit a result", "echo '{\"ok\":true}' | cruxctl durable complete --work $WORK --fence $FENCE"),
            ("Commit the one that is kept", "cruxctl durable complete --work $WORK --fence $FENCE --prepared"),
        ],
    ),
    (
        "cruxctl durable fail",
        &[("There will be no result", "cruxctl durable fail --work $WORK --fence $FENCE --reason 'no such order'")],
    ),
    (
        "cruxctl durable block",
        &[(
            "Somebody must see to it",
            "cruxctl durable block --work $WORK --fence $FENCE --reason 'the key has expired'",
        )],
    ),
    ("cruxctl durable unblock", &[("Go on", "cruxctl durable unblock --session $SESSION")]),
    (
        "cruxctl durable result",
        &[
            ("Is there a result?", "cruxctl durable result --input $INPUT"),
            ("Wait for it half a minute", "cruxctl durable result --input $INPUT --wait 30s"),
        ],
    ),
    (
        "cruxctl durable status",
        &[("Where does it stand?", "cruxctl durable status --target checkout --key order-42")],
    ),
    ("cruxctl durable inspect", &[("What has become of its inputs?", "cruxctl durable inspect --session $SESSION")]),
    ("cruxctl durable stats", &[("How much was done?", "cruxctl durable stats --session $SESSION --json")]),
    ("cruxctl durable list", &[("What waits for somebody?", "cruxctl durable list --status blocked")]),
    (
        "cruxctl durable stream",
        &[
            ("What has happened?", "cruxctl durable stream --session $SESSION"),
            ("What happens from here on?", "cruxctl durable stream --session $SESSION --after $CURSOR --follow"),
        ],
    ),
    (
        "cruxctl durable subscribe",
        &[(
            "Hear of orders that were paid",
            "cruxctl durable subscribe --session $SESSION --signal paid --match '{\"kind\":\"order\"}'",
        )],
    ),
    ("cruxctl durable unsubscribe", &[("Hear no more", "cruxctl durable unsubscribe --sub $SUBSCRIPTION")]),
    ("cruxctl durable subscriptions", &[("Who hears of it?", "cruxctl durable subscriptions --signal paid")]),
    (
        "cruxctl durable publish",
        &[(
            "Tell whoever is subscribed, once",
            "echo '{\"kind\":\"order\",\"id\":42}' | cruxctl durable publish --signal paid --occurrence payment-7",
        )],
    ),
    ("cruxctl durable close", &[("No more inputs", "cruxctl durable close --session $SESSION")]),
    ("cruxctl durable kill", &[("End it now", "cruxctl durable kill --session $SESSION")]),
    ("cruxctl durable delete", &[("Leave only that it was there", "cruxctl durable delete --session $SESSION")]),
    (
        "cruxctl completions",
        &[("For bash", "cruxctl completions bash > ~/.local/share/bash-completion/completions/cruxctl")],
    ),
    ("cruxctl man", &[("Write the manual", "cruxctl man ~/.local/share/man/man1")]),
];

/// The examples of a command path.
#[must_use]
pub fn of(path: &str) -> &'static [(&'static str, &'static str)] {
    EXAMPLES.iter().find(|(name, _)| *name == path).map_or(&[], |(_, examples)| examples)
}
