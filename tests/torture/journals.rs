//! A journal of each kind, of some thirty records with everything in them that can be mistaken for something else.

use cruxctl::journal::Journal;
use cruxctl::store::{case, durable, fact, handoff, reuse, session, trust};

use crate::support::session_line;

/// A journal, and how its records are made.
pub struct Kind {
    pub journal: &'static Journal,
    /// A record that is stored: an id and a text as JSON has them, and a value that may be anything.
    stored: fn(&str, &str, &str) -> String,
    /// Other records, and stored ones in other forms.
    more: fn() -> Vec<String>,
}

pub const KINDS: [Kind; 7] = [
    Kind { journal: &session::JOURNAL, stored: a_session, more: more_sessions },
    Kind { journal: &case::JOURNAL, stored: a_case, more: more_cases },
    Kind { journal: &fact::JOURNAL, stored: a_fact, more: more_facts },
    Kind { journal: &reuse::JOURNAL, stored: a_count, more: more_counts },
    Kind { journal: &handoff::JOURNAL, stored: a_handoff, more: more_handoffs },
    Kind { journal: &trust::JOURNAL, stored: a_key, more: more_keys },
    Kind { journal: &durable::JOURNAL, stored: a_durable, more: more_durable },
];

const AT: &str = "\"2026-01-01T00:00:00Z\"";

fn a_session(id: &str, text: &str, any: &str) -> String {
    format!(
        "{{\"op\":\"store\",\"session\":{{\"session_id\":{id},\"state\":{any},\"updated_at\":{AT},\"total_tokens\":1,\
         \"archived\":false,\"actor\":{text}}}}}"
    )
}

fn more_sessions() -> Vec<String> {
    let document = format!("[\"ar\",[[\"delete\",\"a0\"],1.5e3],{AT},4,null,true,{AT},\"tidy }}\",\"bob\"]");
    [
        session_line("b0", "7").as_str(),
        "{\"op\":\"delete\",\"session_id\":\"b0\"}",
        "{\"op\":\"delete\",\"session_id\":\"a1\",\"deleted_at\":\"2026-01-02T00:00:00Z\"}",
        "[\"delete\",\"a2\"]",
        &format!("[\"store\",{document}]"),
        &format!("{{\"op\":\"store\",\"session\":{document}}}"),
        // The tag and the state come last.
        &format!("{{\"session\":{{\"total_tokens\":18446744073709551615,\"updated_at\":\"2026-01-01 00:00:00+02:00\",\"session_id\":\"z\",\"state\":-0.5}},\"op\":\"store\"}}"),
        &format!("{{ \"op\" : \"store\" , \"session\" : {{\t\"session_id\":\"sp\",\"state\": [ 1 , {{ }} ] ,\"updated_at\":{AT},\"total_tokens\":0,\"expires_at\":{AT}}} }}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn a_case(id: &str, text: &str, any: &str) -> String {
    format!(
        "{{\"op\":\"record\",\"case\":{{\"case_id\":{id},\"task\":{text},\"action\":\"a\",\"outcome\":\"o\",\"success\":true,\
         \"reward\":0.5,\"tags\":[\"t\",{text}],\"created_at\":{AT},\"x\":{any}}}}}"
    )
}

fn more_cases() -> Vec<String> {
    let document = format!("[\"ar\",\"t\",null,\"a\",\"}}]}}\",false,1E-2,[],\"r\",{AT},4294967295]");
    [
        "{\"op\":\"delete\",\"case_id\":\"a0\"}",
        "{\"op\":\"delete\",\"case_id\":\"a1\",\"deleted_at\":\"2026-01-02T00:00:00Z\"}",
        "[\"delete\",\"a2\"]",
        &format!("[\"record\",{document}]"),
        &format!("{{\"case\":{document},\"op\":\"record\"}}"),
        &format!("{{ \"op\":\"record\", \"case\": {{\"case_id\":\"sp\",\"task\":\"\",\"context\":\"{{\",\"action\":\"\",\"outcome\":\"\",\"success\":false,\"reward\":1,\"created_at\":{AT},\"times_reused\":3}} }}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn fact_document(id: &str, text: &str, any: &str) -> String {
    format!(
        "{{\"fact_id\":{id},\"entity\":\"e\",\"key\":{text},\"value\":\"v\",\"confidence\":0.9,\"stored_at\":{AT},\"tokens\":3,\
         \"deleted\":false,\"version\":1,\"x\":{any}}}"
    )
}

fn a_fact(id: &str, text: &str, any: &str) -> String {
    format!("{{\"op\":\"store\",\"fact\":{}}}", fact_document(id, text, any))
}

fn more_facts() -> Vec<String> {
    let [one, two, canonical] =
        ["b1", "b2", "co"].map(|id| fact_document(&format!("\"{id}\""), "\"},{\"", "[[],{}]"));
    let array = format!("[\"ar\",\"\",\"e\",\"k\",\"v\",null,1,{AT},3,false]");
    [
        &*format!("{{\"op\":\"store_batch\",\"facts\":[{one},{two},{array}]}}"),
        "{\"op\":\"store_batch\",\"facts\":[]}",
        &format!("[\"store\",{}]", array.replace("\"ar\"", "\"as\"")),
        &format!("{{\"op\":\"replace_latest\",\"fact\":{},\"replaced_fact_ids\":[\"b1\"]}}", one.replace("\"b1\"", "\"b3\"")),
        "{\"op\":\"delete\",\"fact_id\":\"a0\",\"deleted_at\":\"some day\"}",
        "[\"delete\",\"a1\",\"2026-01-02T00:00:00Z\"]",
        "{\"op\":\"supersede\",\"fact_id\":\"a2\",\"by_fact_id\":\"a3\",\"superseded_at\":\"x\"}",
        "{\"op\":\"clear_supersede\",\"fact_id\":\"a2\",\"cleared_at\":\"x\"}",
        &format!("{{\"op\":\"set_validity\",\"fact_id\":\"a4\",\"valid_from\":{AT},\"set_at\":\"x\"}}"),
        &format!("{{\"op\":\"consolidate\",\"canonical\":{canonical},\"superseded_fact_ids\":[\"a5\",\"a6\"],\"consolidated_at\":\"x\"}}"),
        "{\"op\":\"consolidation_provenance\",\"canonical_fact_id\":\"co\",\"source_fact_ids\":[\"a5\",\"a6\"],\"tenant_hash\":\"default\",\"recorded_at\":\"x\"}",
        "{\"op\":\"consolidate_undo\",\"canonical_fact_id\":\"co\",\"restored_fact_ids\":[\"a5\",\"a6\"],\"undone_at\":\"x\"}",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn a_count(id: &str, text: &str, any: &str) -> String {
    format!("{{\"op\":\"reuse\",\"case_id\":{id},\"times\":12,\"used_at\":{AT},\"t\":{text},\"x\":{any}}}")
}

fn more_counts() -> Vec<String> {
    [
        "{\"op\":\"delete\",\"case_id\":\"a0\"}",
        "[\"delete\",\"a1\"]",
        &*format!("[\"reuse\",\"ar\",18446744073709551615,{AT}]"),
        &format!("{{\"times\":0,\"used_at\":{AT},\"case_id\":\"z\",\"op\":\"reuse\"}}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn a_handoff(id: &str, text: &str, any: &str) -> String {
    format!(
        "{{\"op\":\"handoff\",\"content_hash\":{id},\"state\":\"open\",\"session_id\":\"s\",\"source_agent\":{text},\
         \"key_id\":\"k\",\"session\":true,\"fact_ids\":[\"f\",{text}],\"sessions_bytes\":1,\"facts_bytes\":20,\
         \"heads_before\":[],\"times\":1,\"begun_at\":{AT},\"x\":{any}}}"
    )
}

fn more_handoffs() -> Vec<String> {
    [
        a_handoff("\"a0\"", "\"alice\"", "1").replace("\"open\"", "\"accepted\""),
        a_handoff("\"a1\"", "\"alice\"", "1").replace("\"open\"", "\"abandoned\""),
        format!(
            "[\"handoff\",\"ar\",\"open\",null,\"s\",\"a\",\"b\",\"c\",\"k\",false,[],1,2,null,[\"f\"],3,{AT},{AT}]"
        ),
    ]
    .to_vec()
}

fn a_key(id: &str, text: &str, any: &str) -> String {
    format!("{{\"op\":\"store\",\"public_key\":{id},\"agent\":{text},\"added_at\":{AT},\"x\":{any}}}")
}

fn more_keys() -> Vec<String> {
    [
        &*format!("{{\"op\":\"delete\",\"public_key\":\"a0\",\"removed_at\":{AT}}}"),
        &format!("[\"delete\",\"a1\",{AT}]"),
        &format!("[\"store\",\"ar\",\"bob\",{AT}]"),
        &format!("{{\"added_at\":{AT},\"agent\":\"z\",\"public_key\":\"z\",\"op\":\"store\"}}"),
    ]
    .map(str::to_owned)
    .to_vec()
}

const COUNTED: &str = "{\"accepted\":1,\"deduplicated\":0,\"delivered\":0,\"resumed\":0,\"dropped\":0,\"started\":0,\
                       \"completed\":0,\"failed\":0}";

fn durable_document(id: &str, text: &str, any: &str) -> String {
    format!(
        "{{\"session_id\":{id},\"namespace\":\"n\",\"target_id\":{text},\"target_kind\":\"flow\",\"key\":\"k\",\
         \"key_hash\":\"h\",\"thread_id\":\"t\",\"state\":\"ready\",\"accepted\":1,\"processed\":0,\"events\":1,\"fences\":0,\
         \"statistics\":{COUNTED},\"created_at\":{AT},\"updated_at\":{AT},\"x\":{any}}}"
    )
}

fn a_durable(id: &str, text: &str, any: &str) -> String {
    format!("{{\"op\":\"open\",\"session\":{}}}", durable_document(id, text, any))
}

fn more_durable() -> Vec<String> {
    let one = durable_document("\"a0\"", "\"t\"", "1");
    let array = format!(
        "[\"ar\",\"n\",\"t\",\"agent\",null,\"h\",\"t\",null,\"closed\",0,0,1,0,null,null,{COUNTED},{AT},{AT}]"
    );
    let input = format!(
        "{{\"input_id\":\"input_a0_1\",\"cursor\":1,\"source\":\"send\",\"accepted_at\":{AT},\"idempotency_key\":\"}}]\",\
         \"payload\":{}}}",
        a_durable("\"victim\"", "\"t\"", "1")
    );
    let line = |op: &str, more: &str| format!("{{\"op\":\"{op}\",\"session\":{one}{more}}}");
    vec![
        format!("[\"close\",{array}]"),
        format!("{{\"session\":{array},\"op\":\"kill\"}}"),
        line(
            "accept",
            &format!(",\"inputs\":[{input},[\"input_a0_2\",2,\"signal\",{AT},null,\"s\",\"o\",\"u\",null]]"),
        ),
        line("repeat", ",\"input_ids\":[\"input_a0_1\"]"),
        line("claim", ""),
        line("checkpoint", ",\"work_id\":\"w\",\"output\":[{\"op\":\"delete\"}]"),
        line("complete", ",\"work_id\":\"w\",\"first\":1,\"last\":72057594037927935"),
        line("complete", ",\"work_id\":\"w\",\"first\":1,\"last\":3,\"erased\":true"),
        line("fail", ",\"work_id\":\"w\",\"first\":0,\"last\":2,\"reason\":\"}}\""),
        line(
            "subscribe",
            &format!(
                ",\"subscription\":{{\"subscription_id\":\"u\",\"session_id\":\"a0\",\"namespace\":\"n\",\
                 \"signal_id\":\"s\",\"match_key\":\"\",\"created_at\":{AT}}}"
            ),
        ),
        line("unblock", ",\"blocked\":true"),
        line("unsubscribe", ",\"subscription_id\":\"u\""),
        format!("{{\"op\":\"delete\",\"session\":{}}}", durable_document("\"a1\"", "\"t\"", "1")),
    ]
}

impl Kind {
    /// The journal's lines, each with its line end. The last one is a stored record.
    pub fn lines(&self) -> Vec<Vec<u8>> {
        let plain = |id: &str| (self.stored)(&format!("\"{id}\""), "\"t\"", "1");
        let whole = plain("victim");
        let array = (self.more)().into_iter().find(|line| line.starts_with('[')).unwrap();
        let quoted = serde_json::to_string(&whole).unwrap();
        // Ids are texts as well.
        let texts = [
            "\"}}{][,:\"",
            "\"}\\\"{\"",
            "\"\\\\\"",
            // A flip makes a line end of one byte of each of these.
            "\"J*\u{ca}\u{4e8a} {\"",
            "\"\\u0041\\ud83d\\ude00\\u000a\\\\\\\"\\/\"",
            "\"\u{1f680}\u{2028}\u{85}\u{7f}\"",
            &quoted,
        ];
        let anys = [
            "{}".to_owned(),
            format!("[{whole}]"),
            format!("[1,{whole},2.5]"),
            format!("{{\"x,\":{whole},\"y\":{array}}}"),
            format!("[\"x\",{array},[[{array}]]]"),
            format!("[ 1 , {whole} , {whole} ]"),
            format!("[\"}}}}\",{{\"op\":\"noop\"}},{{\"op\":\"store\",\"half\":[]}},{whole}]"),
            whole.clone(),
            array,
            "[0,-0,1e5,1E+2,0.25,-12.5e-3,12345678901234567890,true,false,null,\"\",[[[]]]]".to_owned(),
        ];
        let mut lines = vec![plain("victim")];
        lines.extend(texts.iter().enumerate().map(|(n, text)| (self.stored)(&format!("\"a{n}\""), text, &quoted)));
        lines.extend(texts.iter().take(6).map(|text| (self.stored)(text, "\"t\"", "\"{\"")));
        lines.extend(anys.iter().enumerate().map(|(n, any)| (self.stored)(&format!("\"c{n}\""), "\"t\"", any)));
        lines.extend((self.more)());
        // What stands around a record, and lines that have none.
        for (n, line) in [" \t", "", "\r", "{}\r", "\t{} "].iter().enumerate() {
            lines.push(line.replace("{}", &plain(&format!("d{n}"))));
        }
        lines.push(plain("last"));
        lines.into_iter().map(|line| (line + "\n").into_bytes()).collect()
    }
}
