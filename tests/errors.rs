//! Every code of the error table is given by the binary with its status, and names the thing; the manual and the
//! README have the same table of exit statuses as the program.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};

use cruxctl::error::{Code, Kind, WHEN_ZERO, worse};
use cruxctl::handoff::envelope;
use cruxctl::handoff::keys::MAC;

use crate::durable::durable;
use crate::support::{Answer, World, session_line, tree, words};

/// Codes that no test here gives, and why.
const NOT_GIVEN: &[(Code, &str)] = &[];

/// A `store` line of a fact.
fn fact_line(id: &str, entity: &str) -> String {
    format!(
        "{{\"op\":\"store\",\"fact\":{{\"fact_id\":\"{id}\",\"entity\":\"{entity}\",\"key\":\"k\",\"value\":\"v\",\
         \"confidence\":1,\"stored_at\":\"2026-01-01T00:00:00Z\",\"tokens\":1,\"deleted\":false}}}}\n"
    )
}

/// The fact `f_1`, for which `f_c` stands.
fn facts() -> World {
    let canonical =
        fact_line("f_c", "c").replace("{\"op\":\"store\",\"fact\":", "{\"op\":\"consolidate\",\"canonical\":");
    let canonical = canonical.replace("}}\n", "},\"superseded_fact_ids\":[\"f_1\"],\"consolidated_at\":\"x\"}\n");
    World::with("facts.jsonl", fact_line("f_1", "e") + &canonical)
}

/// For each code a test of its own, what the message must name, and a command that gives it.
macro_rules! given {
    ($($test:ident: $code:ident, $names:literal, $give:expr;)+) => {
        $(#[test]
        fn $test() {
            let give: fn() -> Answer = $give;
            gives(Code::$code, $names, &give());
        })+

        /// The codes that have a test.
        const GIVEN: &[Code] = &[$(Code::$code,)+];
    };
}

given! {
    an_id_that_is_not_there_is_no_session: NoSession, "nope", || {
        World::new().run(&words("session get nope --json"))
    };
    a_version_that_there_is_not_is_no_revision: NoRevision, "there is no 7", || {
        let world = World::with("sessions.jsonl", session_line("s", "1") + "\n");
        world.run(&words("session get s --rev 7 --json"))
    };
    a_case_that_is_not_there_is_no_case: NoCase, "nope", || World::new().run(&words("case show nope --json"));
    a_task_that_nothing_is_like_is_no_match: NoMatch, "no case has the word", || {
        World::new().run(&words("case retrieve deploy --json"))
    };
    a_key_that_no_session_has_is_no_session_not_found: NoSessionNotFound, "k7", || {
        World::new().run(&words("durable get --target t --key k7 --json"))
    };
    an_input_that_nobody_has_sent_is_no_session_input: NoSessionInput, "input_ab_1", || {
        World::new().run(&words("durable result --input input_ab_1 --json"))
    };
    a_session_that_waits_for_nothing_has_no_session_work: NoSessionWork, "nothing waits", || {
        durable("").run(&words("durable claim --target t --key k --json"))
    };
    a_subscription_that_is_not_there_is_no_session_subscription: NoSessionSubscription, "subscription_ab", || {
        durable("").run(&words("durable unsubscribe --sub subscription_ab --json"))
    };
    a_result_that_is_not_there_yet_is_pending: NoSessionResultPending, "yet", || {
        durable("send").run_in_durable("durable result --input INPUT --json", "")
    };
    what_is_no_json_is_no_input: UsageSessionInputInvalid, "at byte 1", || {
        durable("").run_with(&words("durable send --target t --key k --json"), "{")
    };
    a_key_of_another_target_is_an_identity_conflict: RefusedSessionIdentityConflict, "\"other\"", || {
        durable("").run(&words("durable open --target other --kind flow --key k --json"))
    };
    the_key_of_a_deleted_session_is_tombstoned: RefusedSessionTombstoned, "never comes back", || {
        durable("close delete").run(&words("durable open --target t --kind flow --key k --json"))
    };
    a_closed_session_takes_nothing: RefusedSessionClosed, "closed", || {
        durable("close").run_with(&words("durable send --target t --key k --json"), "1")
    };
    a_session_that_was_deleted_is_forked_by_nobody: RefusedSessionDeleted, "was deleted", || {
        durable("close delete").run_in_durable("durable fork --session SESSION --json", "")
    };
    a_session_that_is_open_is_not_deleted: RefusedSessionNotClosed, "ready", || {
        durable("").run(&words("durable delete --target t --key k --json"))
    };
    a_closing_session_is_not_forked: RefusedSessionLifecycle, "closing", || {
        durable("send close").run(&words("durable fork --target t --key k --json"))
    };
    a_fence_that_does_not_count_is_fenced: RefusedSessionFenced, "the fence 7", || {
        durable("send claim").run_in_durable("durable complete --work WORK --fence 7 --json", "1")
    };
    the_result_of_blocked_work_is_blocked: RefusedSessionResultBlocked, "blocked", || {
        durable("send claim block").run_in_durable("durable result --input INPUT --json", "")
    };
    the_result_of_failed_work_is_failed: RefusedSessionResultFailed, "failed", || {
        durable("send claim fail").run_in_durable("durable result --input INPUT --json", "")
    };
    the_result_of_a_killed_session_is_dropped: RefusedSessionResultDropped, "killed", || {
        durable("send kill").run_in_durable("durable result --input INPUT --json", "")
    };
    a_result_that_was_erased_is_erased: RefusedSessionResultErased, "erased", || {
        let mut world = durable("send claim complete");
        world.at("2026-07-01T13:00:00Z");
        world.run(&words("journal compact durable --retain 30m")).ends(0);
        world.run_in_durable("durable result --input INPUT --json", "")
    };
    work_whose_command_fails_is_session_work_failed: RefusedSessionWorkFailed, "1 work failed", || {
        durable("send").run(&words("durable work --json --max-attempts 1 -- false"))
    };
    a_prepared_result_that_is_lost_is_an_unavailable_artifact: RefusedSessionTurnResultArtifactUnavailable, "the prepared result", || {
        let world = durable("send claim checkpoint");
        world.run_in_durable("durable renew --work WORK --fence FENCE", "").ends(0);
        let mut journal = world.read("cruxctl/durable.jsonl");
        let lost = journal.windows(14).position(|part| part == b"\"op\":\"checkpoi").unwrap();
        journal[lost] = 0xff;
        world.write("cruxctl/durable.jsonl", journal);
        world.run(&words("journal repair durable --apply")).ends(0);
        world.run_in_durable("durable complete --work WORK --fence FENCE --prepared --json", "")
    };
    a_document_with_a_member_too_many_is_usage_document: UsageDocument, "rewards", || {
        let text = "{\"task\":\"t\",\"action\":\"a\",\"outcome\":\"o\",\"rewards\":1}";
        World::new().run_with(&words("case record --json"), text)
    };
    a_place_that_is_not_there_is_no_record: NoRecord, "line 7", || {
        healthy().run(&words("journal repair sessions --take 7 --json"))
    };
    a_key_that_nobody_trusts_is_no_key: NoKey, "alice", || World::new().run(&words("handoff trust remove alice --json"));
    a_public_key_that_is_to_sign_is_usage_key: UsageKey, "k.pub", || {
        keyed().run(&words("handoff create a --sign-key k.pub --json"))
    };
    a_text_that_is_no_envelope_is_rejected_malformed: RejectedMalformed, "payload_b64", || {
        verify("{\"signature_b64\":\"\",\"signature_alg\":\"\"}")
    };
    a_document_without_a_signature_is_rejected_unsigned: RejectedUnsigned, "signature", || verify("{\"payload_b64\":\"\"}");
    an_envelope_of_another_algorithm_is_rejected_algorithm: RejectedAlgorithm, "blake3-mac-v2", || {
        verify(&minted(PACKAGE).replace("mac-v1", "mac-v2"))
    };
    an_envelope_of_another_payload_is_rejected_hash: RejectedHash, "hash", || {
        verify(&minted(PACKAGE).replace("\"eyJ", "\"eyB"))
    };
    an_envelope_of_another_secret_is_rejected_mac: RejectedMac, "the key", || verify(&mint(b"another", PACKAGE));
    a_payload_that_is_no_package_is_rejected_payload: RejectedPayload, "session_id", || verify(&minted("{}"));
    a_signature_in_anothers_name_is_rejected_source: RejectedSource, "\"bob\"", || {
        let world = keyed();
        let envelope = world.run(&words("handoff create a --sign-key k --allow-missing --agent bob --json")).ends(0);
        world.run_with(&words("handoff verify --trusted alice=k.pub --json"), envelope.stdout)
    };
    a_package_for_another_agent_is_rejected_target: RejectedTarget, "\"bob\"", || {
        verify(&minted(&PACKAGE.replace("\"message\"", "\"target_agent\":\"bob\",\"message\"")))
    };
    a_private_fact_for_nobody_is_rejected_receiver: RejectedReceiver, "1 of its facts", || {
        let fact = "{\"fact_id\":\"f\",\"entity\":\"e\",\"key\":\"k\",\"value\":\"\",\"confidence\":1,\"tokens\":0,\"deleted\":false,\
                    \"stored_at\":\"2026-01-01T00:00:00Z\",\"private\":true}";
        verify(&minted(&PACKAGE.replace("[]", &format!("[{fact}]"))))
    };
    a_package_that_has_expired_is_rejected_expired: RejectedExpired, "2026-07-01T11:00:00Z", || {
        verify(&minted(&PACKAGE.replace("\"message\"", "\"expires_at\":\"2026-07-01T11:00:00Z\",\"message\"")))
    };
    a_state_with_a_member_twice_is_refused_duplicate: RefusedDuplicate, "\"a\"", || {
        let world = keyed();
        put(&world, "s", "{\"a\":1,\"a\":2}").ends(0);
        world.run(&words("handoff create s --sign-key k --json"))
    };
    a_handoff_above_ninety_days_is_refused_ttl: RefusedTtl, "90 days", || {
        keyed().run(&words("handoff create s --ttl 91days --json"))
    };
    a_key_of_another_agent_is_refused_key: RefusedKey, "alice", || {
        let world = keyed();
        world.run(&words("handoff trust add alice k.pub")).ends(0);
        world.run(&words("handoff trust add bob k.pub --json"))
    };
    no_secret_anywhere_is_environment_no_key: EnvironmentNoKey, "CRUX_MCP_HANDOFF_SECRET", || {
        World::new().run(&words("handoff verify --json"))
    };
    a_secret_of_nothing_is_environment_key_empty: EnvironmentKeyEmpty, "empty.key", || {
        let world = World::new();
        fs::write(world.beside("empty.key"), "\n").unwrap();
        world.run(&words("handoff verify --key-file empty.key --json"))
    };
    a_wrong_command_line_is_usage_arguments: UsageArguments, "--nope", || {
        World::new().run(&words("session list --json --nope"))
    };
    a_state_that_is_no_json_is_usage_not_json: UsageNotJson, "standard input", || {
        put(&World::new(), "a", "{")
    };
    an_id_that_may_not_be_created_is_usage_id: UsageId, "__agent_session::x", || {
        put(&World::new(), "__agent_session::x", "1")
    };
    an_answer_from_a_damaged_journal_is_damaged_journal: DamagedJournal, "sessions.jsonl", || {
        damaged().run(&words("session list --json"))
    };
    what_the_daemon_loses_is_damaged_for_daemon: DamagedForDaemon, "sessions.jsonl", || {
        World::with("sessions.jsonl", session_line("a", "1")).run(&words("journal check --for-daemon --json"))
    };
    a_large_state_is_refused_too_large: RefusedTooLarge, "the state has 7 bytes", || {
        put(&World::new(), "a --max-state-bytes 6", "{\"a\":1}")
    };
    a_state_that_the_daemon_loses_is_refused_daemon_unreadable: RefusedDaemonUnreadable, "byte 1", || {
        put(&World::new(), "a", "[1e400]")
    };
    a_session_that_is_there_is_refused_exists: RefusedExists, "\"a\"", || put(&healthy(), "a --if-absent", "2");
    a_state_that_has_changed_is_refused_changed: RefusedChanged, "\"a\"", || {
        put(&healthy(), &format!("a --if-match {}", "0".repeat(64)), "2")
    };
    a_session_that_has_expired_is_refused_expired: RefusedExpired, "\"old\"", || {
        let world = World::new();
        put(&world, "old --ttl 0s", "1").ends(0);
        world.run(&words("session get old --json"))
    };
    a_repair_above_its_limit_is_refused_loss: RefusedLoss, "sessions.jsonl", || {
        damaged().run(&words("journal repair --apply --max-loss-bytes 1 --json"))
    };
    a_compaction_of_a_damaged_journal_is_refused_damage: RefusedDamage, "sessions.jsonl", || {
        damaged().run(&words("journal compact sessions --json"))
    };
    a_handoff_that_is_not_there_is_no_handoff: NoHandoff, "h_none", || {
        World::new().run(&words("handoff abandon h_none --json"))
    };
    a_handoff_that_was_accepted_is_refused_replayed: RefusedReplayed, "2026-07-01T12:00:00Z", || {
        let world = crate::envelopes::world();
        let accept = words("handoff accept --key-file key --json");
        world.run_with(&accept, crate::envelopes::envelope(crate::envelopes::PACKAGE)).ends(0);
        world.run_with(&accept, crate::envelopes::envelope(crate::envelopes::PACKAGE))
    };
    a_compaction_beside_a_half_accepted_handoff_is_refused_open: RefusedOpen, "h0", || {
        let world = facts();
        fs::create_dir_all(world.dir().join("cruxctl")).unwrap();
        let open = "{\"op\":\"handoff\",\"content_hash\":\"h0\",\"state\":\"open\",\"session_id\":\"s\",\"source_agent\":\"a\",\
                    \"key_id\":\"k\",\"session\":true,\"fact_ids\":[],\"sessions_bytes\":0,\"facts_bytes\":0,\"heads_before\":[],\"times\":1,\
                    \"begun_at\":\"2026-07-01T12:00:00Z\"}\n";
        world.write("cruxctl/handoffs.jsonl", open);
        world.run(&words("journal compact facts --json"))
    };
    a_fact_that_is_not_there_is_no_fact: NoFact, "f_none", || facts().run(&words("fact show f_none --json"));
    a_question_that_no_fact_answers_is_no_fact_match: NoFactMatch, "no fact matches", || {
        facts().run(&words("fact query nothing --json"))
    };
    a_fact_of_the_daemons_own_is_refused_daemons_own: RefusedDaemonsOwn, "__incident__::", || {
        facts().run(&words("fact store --entity __incident__::x --key k --value v --json"))
    };
    a_source_of_a_consolidation_is_refused_consolidated: RefusedConsolidated, "f_c", || {
        facts().run(&words("fact delete f_1 --json"))
    };
    a_circle_of_facts_is_refused_link: RefusedLink, "f_c", || {
        facts().run(&words("fact supersede f_c --by f_1 --json"))
    };
    a_compaction_under_a_legal_hold_is_refused_hold: RefusedHold, "f_h", || {
        let world = facts();
        world.append("facts.jsonl", fact_line("f_h", "__legal_hold__::case") + &fact_line("f_2", "e"));
        world.run(&words("fact delete f_2")).ends(0);
        world.run(&words("journal compact facts --json"))
    };
    a_lock_that_is_held_is_busy_lock: BusyLock, "cruxctl/lock", || {
        let world = healthy();
        put(&world, "a", "1").ends(0);
        let lock = File::open(world.dir().join("cruxctl/lock")).unwrap();
        lock.lock().unwrap();
        put(&world, "a --lock-timeout 10ms", "2")
    };
    a_journal_that_is_rewritten_in_place_is_busy_changing: BusyChanging, "sessions.jsonl", rewritten;
    a_folder_that_is_a_file_is_environment_io: EnvironmentIo, "file/data/sessions.jsonl", || {
        let world = World::new();
        fs::write(world.beside("file"), "").unwrap();
        world.run(&words("session list --data-dir file/data --json"))
    };
    a_journal_that_may_not_be_read_is_environment_permission: EnvironmentPermission, "sessions.jsonl", || {
        failing("openat:error=EACCES", "sessions.jsonl", "session list")
    };
    a_full_disk_is_environment_space: EnvironmentSpace, "sessions.jsonl", || {
        failing("write:error=ENOSPC", "sessions.jsonl", "session delete a")
    };
    a_record_longer_than_memory_is_environment_memory: EnvironmentMemory, "cannot read line 2 of", || {
        let long = session_line("long", &format!("\"{}\"", "x".repeat(64 << 20)));
        let world = World::with("sessions.jsonl", session_line("a", "1") + "\n" + &long + "\n");
        world.shell("ulimit -v 60000; cruxctl journal log --json")
    };
    a_folder_in_a_journals_place_is_environment_file_kind: EnvironmentFileKind, "sessions.jsonl", || {
        let world = World::new();
        fs::create_dir_all(world.dir().join("sessions.jsonl")).unwrap();
        let answer = world.run(&words("session list --json"));
        fs::remove_dir(world.dir().join("sessions.jsonl")).unwrap();
        answer
    };
    a_lock_that_does_not_work_is_environment_lock: EnvironmentLock, "/data", || {
        failing("flock:error=ENOLCK", "cruxctl/lock", "session delete a")
    };
    an_output_that_is_full_is_environment_stdout: EnvironmentStdout, "standard output", || {
        healthy().shell("cruxctl session list --json > /dev/full")
    };
    an_input_that_cannot_be_read_is_environment_stdin: EnvironmentStdin, "standard input", || {
        World::new().shell("cruxctl session put a --json < /")
    };
    a_write_that_could_not_be_synced_is_unknown_write: UnknownWrite, "sessions.jsonl", || {
        failing("fdatasync:error=EIO", "sessions.jsonl", "session delete a")
    };
}

/// Holds an answer in JSON against the code that it must give.
fn gives(code: Code, names: &str, answer: &Answer) {
    if code.kind() == Kind::Damaged {
        // The answer is there, and the error says what it lacks.
        let told = answer.talk().into_iter().rfind(|talk| talk["schema"] == "cruxctl.error.v1").unwrap();
        assert_eq!((told["code"].as_str(), answer.status), (Some(code.text()), 3), "{answer:?}");
        assert_eq!(told["status"], 3, "{answer:?}");
        assert!(!answer.stdout.is_empty() && told["message"].as_str().unwrap().contains(names), "{answer:?}");
        return;
    }
    let error = answer.fails(code);
    let message = error["message"].as_str().unwrap();
    assert!(message.contains(names), "{message:?} does not name {names}");
    // One line, no full stop, and none of Rust's own numbers.
    assert!(!message.ends_with('.') && !message.contains('\n') && !message.contains("os error"), "{message:?}");
}

fn healthy() -> World {
    World::with("sessions.jsonl", session_line("a", "1") + "\n")
}

fn damaged() -> World {
    World::with("sessions.jsonl", format!("{}\nnot a record\n", session_line("a", "1"))).damaged()
}

fn put(world: &World, args: &str, state: &str) -> Answer {
    world.run_with(&[words("session put --json"), words(args)].concat(), state)
}

/// The secret of the envelopes that are minted here.
const SECRET: &[u8] = b"a secret of these tests";

/// The least that a package has.
const PACKAGE: &str = "{\"session_id\":\"s\",\"facts\":[],\"created_at\":\"2026-07-01T12:00:00+00:00\",\
                       \"source_agent\":\"alice\",\"message\":null}";

/// An envelope of a payload, made with a secret.
fn mint(secret: &[u8], payload: &str) -> String {
    let mac = blake3::keyed_hash(blake3::hash(secret).as_bytes(), payload.as_bytes());
    envelope::mint(payload.as_bytes(), mac.as_bytes(), MAC)
}

fn minted(payload: &str) -> String {
    mint(SECRET, payload)
}

/// Verifies an envelope with the secret of these tests.
fn verify(text: &str) -> Answer {
    let world = World::new();
    fs::write(world.beside("secret"), SECRET).unwrap();
    world.run_with(&words("handoff verify --key-file secret --json"), text)
}

/// A world with a pair of ed25519 keys, `k` and `k.pub`.
fn keyed() -> World {
    let world = World::new();
    world.run(&words("handoff keygen --ed25519 k")).ends(0);
    world
}

/// Runs a command in which every system call of one kind on one file of the data directory fails.
fn failing(call: &str, file: &str, line: &str) -> Answer {
    let world = healthy().damaged();
    world.run(&words("session archive a")).ends(0);
    let path = world.dir().join(file);
    world.shell(&format!("strace -qq -o /dev/null -P '{}' -e inject={call} cruxctl {line} --json", path.display()))
}

/// Lists a journal that is overwritten in place while its list is being printed.
fn rewritten() -> Answer {
    let ids = (0..4000).map(|n| format!("{n}{}", "x".repeat(200)));
    let text: String = ids.map(|id| session_line(&id, "1") + "\n").collect();
    let world = World::with("sessions.jsonl", &text).damaged();
    let mut child = world.command(&words("session list --json")).spawn().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    // The first byte comes when everything was scanned; most of the rest cannot come before the pipe is emptied.
    stdout.read_exact(&mut [0]).unwrap();
    let mut journal = OpenOptions::new().write(true).open(world.dir().join("sessions.jsonl")).unwrap();
    journal.write_all("\n".repeat(text.len()).as_bytes()).unwrap();
    stdout.read_to_end(&mut Vec::new()).unwrap();
    Answer::from(child.wait_with_output().unwrap())
}

#[test]
fn every_code_has_a_test_or_a_reason() {
    for code in Code::ALL {
        let given = GIVEN.iter().filter(|given| *given == code).count();
        let reasons = NOT_GIVEN.iter().filter(|(not, why)| not == code && !why.is_empty()).count();
        assert_eq!(given + reasons, 1, "{}: {given} tests and {reasons} reasons", code.text());
    }
}

#[test]
fn a_code_begins_with_its_kind_and_is_told_once() {
    for code in Code::ALL {
        let (kind, rest) = code.text().split_once('.').unwrap();
        assert_eq!(kind, code.kind().name());
        assert!(!rest.is_empty() && rest.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{rest}");
        assert!(!code.when().is_empty(), "{}", code.text());
        assert_eq!(Code::ALL.iter().filter(|other| other.text() == code.text()).count(), 1, "{}", code.text());
    }
    // Grouped by status, so that the table reads from 1 to 8.
    assert!(Code::ALL.is_sorted_by_key(|code| code.kind().status()));
}

#[test]
fn the_kinds_are_the_statuses_from_one_to_eight() {
    assert_eq!(Kind::ALL.map(Kind::status), [1, 2, 3, 4, 5, 6, 7, 8]);
    for kind in Kind::ALL {
        assert!(Code::ALL.iter().any(|code| code.kind() == kind), "{}", kind.name());
    }
}

#[test]
fn of_two_statuses_the_worse_is_told() {
    let order = [8, 7, 6, 5, 4, 2, 3, 1, 0];
    for (rank, worst) in order.into_iter().enumerate() {
        for other in &order[rank..] {
            assert_eq!([worse(worst, *other), worse(*other, worst)], [worst, worst], "{worst} and {other}");
        }
    }
}

#[test]
fn statuses_that_meet_in_one_command_end_with_the_worse() {
    let world = damaged();
    put(&world, "old --ttl 0s", "1").ends(0);
    for (line, status) in [
        // 3 and 1, 3 and 5, 3 and 7.
        ("cruxctl session get nope", 3),
        ("cruxctl session get old", 5),
        ("cruxctl session list > /dev/full", 7),
        ("cruxctl journal check > /dev/full", 7),
    ] {
        world.shell(line).ends(status);
    }
}

/// The cells of a Markdown table's row, without marks.
fn cells(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches('|').trim_end_matches('|');
    line.split('|').map(|cell| cell.replace('`', "").trim().to_owned()).collect()
}

#[test]
fn the_readme_has_the_table_of_statuses() {
    let readme = fs::read_to_string(tree("README.md")).unwrap();
    let rows: Vec<Vec<String>> = readme.lines().filter(|line| line.starts_with('|')).map(cells).collect();
    for kind in Kind::ALL {
        let row = [kind.status().to_string(), kind.name().to_owned(), kind.when().to_owned()];
        assert!(rows.iter().any(|cells| cells == &row), "README.md has no row {row:?}");
    }
    let zero = rows.iter().find(|cells| cells[0] == "0").unwrap_or_else(|| panic!("README.md has no row for 0"));
    assert_eq!(zero.last().unwrap(), WHEN_ZERO);
}

#[test]
fn the_manual_has_every_status_with_its_meaning() {
    let page = fs::read_to_string(tree("man/cruxctl.1")).unwrap().replace("\\-", "-").replace("\\*(Aq", "'");
    let section = page.split("\n.SH ").find(|section| section.trim_start_matches('"').starts_with("EXIT STATUS"));
    let lines: Vec<&str> = section.unwrap_or_else(|| panic!("no section EXIT STATUS: {page}")).lines().collect();
    let told = |status: u8, when: &str| {
        let bold = format!("\\fB{status}\\fR");
        lines.windows(3).any(|three| three == [".TP", &bold, when])
    };
    assert!(told(0, WHEN_ZERO), "{lines:?}");
    for kind in Kind::ALL {
        assert!(told(kind.status(), kind.when()), "{} {} in {lines:?}", kind.status(), kind.when());
    }
}
