//! Chat templates as real tokenizers write them.

use std::fs;

use aiperf_tokenize::{Lookup, Message, Tokenizer};
use serde_json::json;

/// The golden tokenizer with another template.
fn with_template(template: &str) -> Tokenizer {
    let folder = tempfile::tempdir().unwrap();
    let golden = aiperf_golden::own_path("tiny-model/tokenizer.json");
    fs::copy(golden, folder.path().join("tokenizer.json")).unwrap();
    let config = json!({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "chat_template": template});
    fs::write(folder.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    Tokenizer::load(folder.path().to_str().unwrap(), &Lookup::default()).unwrap()
}

fn rendered(template: &str, messages: &serde_json::Value) -> Result<String, String> {
    with_template(template).apply_chat_template(messages, true).unwrap().map_err(|error| error.to_string())
}

#[test]
fn blocks_leave_no_lines_behind_and_special_tokens_have_names() {
    let template = "{{ bos_token }}\n{% for message in messages %}\n    {% if loop.first and message.role == 'system' %}\nSYSTEM {{ message.content }}\n    {% else %}\n{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] | trim + eos_token }}\n    {% endif %}\n{% endfor %}\n{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";
    let messages = json!([{"role": "system", "content": "be kind"}, {"role": "user", "content": " hi "}]);
    assert_eq!(
        rendered(template, &messages).unwrap(),
        "<s>\nSYSTEM be kind\n<|im_start|>user\nhi</s>\n<|im_start|>assistant\n"
    );
}

#[test]
fn the_methods_of_python_strings_and_mappings_work() {
    let template = "{%- for m in messages -%}{%- if m.get('name') and m.content.startswith('x') -%}{{ m.content.split('|')[1].strip().upper() }}{%- endif -%}{%- for k, v in m.items() -%}{{ k }}={{ v }};{%- endfor -%}{%- endfor -%}";
    let messages = json!([{"role": "user", "name": "n", "content": "x| y "}]);
    assert_eq!(rendered(template, &messages).unwrap(), "Yrole=user;name=n;content=x| y ;");
}

#[test]
fn json_is_written_as_python_writes_it() {
    let messages = json!([{"role": "user", "content": {"b": [1, 2.5, null, true], "a": "é<&'"}}]);
    assert_eq!(
        rendered("{{ messages[0].content | tojson }}", &messages).unwrap(),
        r#"{"b": [1, 2.5, null, true], "a": "é<&'"}"#
    );
    assert_eq!(rendered("{{ [1] | tojson(indent=2) }}", &messages).unwrap(), "[\n  1\n]");
}

#[test]
fn loops_may_break_namespaces_may_count_and_generation_marks_print_nothing() {
    let template = "{%- set seen = namespace(n=0) -%}{%- for m in messages -%}{%- if m.role == 'stop' -%}{%- break -%}{%- endif -%}{%- set seen.n = seen.n + 1 -%}{%- generation -%}[{{ m.content }}]{%- endgeneration -%}{%- endfor -%}{{ seen.n }}";
    let messages = json!([{"role": "user", "content": "a"}, {"role": "stop"}, {"role": "user", "content": "b"}]);
    assert_eq!(rendered(template, &messages).unwrap(), "[a]1");
}

#[test]
fn what_is_not_given_is_none_or_undefined() {
    let template = "{% if tools is none and documents is none and xtc is not defined and not strange %}ok{% endif %}";
    assert_eq!(rendered(template, &json!([])).unwrap(), "ok");
}

#[test]
fn nothing_is_not_iterable() {
    let template =
        "{% if tools is iterable and tools | length > 0 %}tools{% endif %}{{ [1] is iterable }}{{ 'a' is iterable }}";
    assert_eq!(rendered(template, &json!([])).unwrap(), "TrueTrue");
}

#[test]
fn the_date_can_be_printed() {
    let date = rendered("{{ strftime_now('%Y-%m-%d') }}", &json!([])).unwrap();
    assert!(date.starts_with("20") && date.len() == 10, "{date}");
}

#[test]
fn a_template_that_refuses_gives_its_reason_and_costs_nothing() {
    let template = "{% if messages | length > 1 %}{{ raise_exception('roles must alternate') }}{% endif %}x";
    let error = rendered(template, &json!([{}, {}])).unwrap_err();
    assert!(error.contains("roles must alternate"), "{error}");
    assert_eq!(with_template(template).template_cost(), Default::default());
}

#[test]
fn the_default_of_several_templates_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    let golden = aiperf_golden::own_path("tiny-model/tokenizer.json");
    fs::copy(golden, folder.path().join("tokenizer.json")).unwrap();
    let named = json!([{"name": "tool_use", "template": "T"}, {"name": "default", "template": "D"}]);
    let config = folder.path().join("tokenizer_config.json");
    fs::write(&config, json!({"chat_template": named}).to_string()).unwrap();
    let load = || Tokenizer::load(folder.path().to_str().unwrap(), &Lookup::default()).unwrap();
    let messages = [Message::user("hi")];
    assert_eq!(load().apply_chat_template(messages, true).unwrap().unwrap(), "D");
    fs::write(folder.path().join("chat_template.jinja"), "F").unwrap();
    assert_eq!(load().apply_chat_template(messages, true).unwrap().unwrap(), "F");
}

#[test]
fn a_template_that_does_not_parse_stops_only_those_who_use_it() {
    let tokenizer = with_template("first\n{% if %}");
    assert_eq!(tokenizer.decode(&tokenizer.encode("still counts")), "still counts");
    let error = tokenizer.apply_chat_template([Message::user("hi")], true).unwrap().unwrap_err().to_string();
    assert!(error.contains("line 2"), "{error}");
}

#[test]
fn the_builtin_tokenizer_has_no_template() {
    assert!(!Tokenizer::builtin().has_chat_template());
    assert!(Tokenizer::builtin().apply_chat_template([Message::user("hi")], true).is_none());
}
