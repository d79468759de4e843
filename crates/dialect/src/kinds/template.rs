//! Payloads made from the user's template, in Jinja.

use super::{Carries, Dialect};
use crate::kinds::shared::detect::AnyReader;
use crate::kinds::shared::payload_template::PayloadTemplate;
use crate::request::{DialectError, Frame, Request};
use aiperf_template::explained;
use aiperf_types::{EndpointKind, Media};
use minijinja::value::{Serde, Value};
use serde::Serialize;
use serde_json::{Map, Value as Json};

pub const DIALECT: Dialect = Dialect {
    carries: Carries::LastTurn,
    is_free: true,
    ..Dialect::new(EndpointKind::Template, frame, |api| Box::new(AnyReader { field: api.response_field.clone() }))
};

/// Characters of a template's output that an error shows.
const SHOWN: usize = 100;

/// What usually helps.
const FILLED_IN: &str = "|tojson where a value goes in, as in {\"text\": {{ text|tojson }}}";

/// Parses a template once for all requests; fails with the line and the reason if it is invalid.
pub(crate) fn payload_template(source: &str) -> Result<PayloadTemplate, String> {
    PayloadTemplate::new(source, VARIABLES.iter().map(|(name, _)| *name))
}

fn frame(request: &Request<'_>) -> Result<Frame, DialectError> {
    let template = request.api.template.as_ref().ok_or(DialectError::Missing("template", "a payload template"))?;
    let name = request.api.endpoint.template_name();
    let variables = VARIABLES.iter().filter(|(name, _)| template.names(name));
    let variables = variables.map(|(name, value)| (*name, value(request)));
    let rendered = template.render(variables).map_err(|error| {
        let reason = explained(&error);
        DialectError::Malformed(format!("{name} cannot be filled in: {reason}\n  try: {FILLED_IN}"))
    })?;
    let value: Json = serde_json::from_str(&rendered).map_err(|error| {
        let shown: String = rendered.chars().take(SHOWN).collect();
        let made = format!("Template did not render valid JSON ({error}): {shown}");
        DialectError::Malformed(format!("{made}\n  {name} is the template\n  try: {FILLED_IN}"))
    })?;
    match value {
        Json::Object(members) => {
            let mut frame = Frame::default();
            frame.extend(&members);
            frame.extend(request.extras());
            Ok(frame)
        }
        other => match request.extras().next() {
            None => Ok(Frame::whole(other)),
            Some((member, _)) => Err(DialectError::Malformed(format!(
                "the template renders no JSON object, so that there is no place for the extra input '{member}'"
            ))),
        },
    }
}

type Variable = fn(&Request<'_>) -> Value;

/// The variables of a template.
const VARIABLES: &[(&str, Variable)] = &[
    ("text", |request| first(&request.turn.texts)),
    ("texts", |request| all(&request.turn.texts)),
    ("texts_by_name", |request| by_name(&request.turn.texts)),
    ("image", |request| first(&request.turn.images)),
    ("images", |request| all(&request.turn.images)),
    ("images_by_name", |request| by_name(&request.turn.images)),
    ("audio", |request| first(&request.turn.audios)),
    ("audios", |request| all(&request.turn.audios)),
    ("audios_by_name", |request| by_name(&request.turn.audios)),
    ("video", |request| first(&request.turn.videos)),
    ("videos", |request| all(&request.turn.videos)),
    ("videos_by_name", |request| by_name(&request.turn.videos)),
    ("query", |request| queries(request).first().copied().into()),
    ("queries", |request| queries(request).into_iter().collect()),
    ("passage", |request| passages(request).first().copied().into()),
    ("passages", |request| passages(request).into_iter().collect()),
    ("model", |request| Serde(request.model()).into()),
    ("max_tokens", |request| request.turn.max_tokens.into()),
    ("role", |request| request.turn.role.as_deref().into()),
    ("stream", |request| Value::from(request.streaming())),
    ("turn", |request| Serde(request.turn).into()),
    ("turns", turns),
    ("request_info", request_info),
];

fn contents(media: &[Media]) -> impl Iterator<Item = &String> {
    media.iter().flat_map(|media| &media.contents)
}

fn all(media: &[Media]) -> Value {
    contents(media).map(String::as_str).collect()
}

fn first(media: &[Media]) -> Value {
    contents(media).next().map(String::as_str).into()
}

fn by_name(media: &[Media]) -> Value {
    let mut named: Map<String, Json> = Map::new();
    for media in media.iter().filter(|media| !media.name.is_empty()) {
        let contents = named.entry(media.name.as_str()).or_insert_with(|| Json::Array(Vec::new()));
        if let Json::Array(contents) = contents {
            contents.extend(media.contents.iter().map(|content| Json::from(content.as_str())));
        }
    }
    Serde(named).into()
}

/// Texts of a name.
fn named<'a>(request: &'a Request<'_>, name: &str) -> Vec<&'a str> {
    let media = request.turn.texts.iter().filter(|media| media.name == name);
    media.flat_map(|media| &media.contents).map(String::as_str).collect()
}

fn queries<'a>(request: &'a Request<'_>) -> Vec<&'a str> {
    named(request, "query")
}

fn passages<'a>(request: &'a Request<'_>) -> Vec<&'a str> {
    let passages = named(request, "passages");
    if passages.is_empty() { named(request, "passage") } else { passages }
}

fn turns(request: &Request<'_>) -> Value {
    request.turns().map(|turn| Value::from(Serde(turn))).collect()
}

/// All inputs of a request.
fn request_info(request: &Request<'_>) -> Value {
    #[derive(Serialize)]
    struct Info<'a> {
        turns: Value,
        system_message: &'a Option<String>,
        user_context_message: &'a Option<String>,
        previous_response_id: Option<&'a str>,
        conversation_id: &'a str,
    }
    let conversation = request.conversation;
    Value::from(Serde(Info {
        turns: turns(request),
        system_message: &conversation.system_message,
        user_context_message: &conversation.user_context_message,
        previous_response_id: request.previous_response_id,
        conversation_id: &conversation.session_id,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::endpoint;
    use crate::{Api, ApiError, Session};
    use aiperf_types::{Conversation, Turn};
    use proptest::prelude::*;

    fn api(template: &str) -> Result<Api, ApiError> {
        let mut endpoint = endpoint(EndpointKind::Template);
        endpoint.template = Some(template.to_owned());
        Api::new(&endpoint, "m")
    }

    fn body(template: &str, turn: Turn) -> Result<String, String> {
        let conversation =
            Conversation { turns: vec![turn], system_message: Some("sys".into()), ..Conversation::default() };
        let api = api(template).map_err(|error| error.to_string())?;
        let request = Session::new(api.into(), conversation.into()).ask(0).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(request.body.joined().into_owned()).unwrap())
    }

    #[test]
    fn a_variable_is_there_however_it_is_used() {
        for (template, wanted) in [
            (r#"{"p": "{{ text[:2] }}"}"#, r#"{"p":"a<"}"#),
            (r#"{"p": {{ text|truncate(length=99)|tojson }}}"#, r#"{"p":"a<b & 'c'"}"#),
            (r#"{% macro m() %}{{ texts|length }}{% endmacro %}{"n": {{ m() }}}"#, r#"{"n":1}"#),
            (
                r#"{"s": "{{ stream }} {{ audio }} {{ nope }}{{ request_info.system_message }}"}"#,
                r#"{"s":"False None sys"}"#,
            ),
            (
                r#"{"t": {{ turn.texts[0].contents|tojson }}, "r": {{ role|tojson }}}"#,
                r#"{"t":["a<b & 'c'"],"r":null}"#,
            ),
            ("[{{ text|tojson }}, 1]", r#"["a<b & 'c'",1]"#),
        ] {
            assert_eq!(body(template, Turn::text("a<b & 'c'")).as_deref(), Ok(wanted), "{template}");
        }
    }

    #[test]
    fn members_keep_the_order_in_which_they_were_named() {
        let media = |name: &str| Media { name: name.into(), contents: vec!["x".into()], ..Media::default() };
        let turn = Turn { texts: vec![media("b"), media("a"), media("b")], ..Turn::default() };
        let template =
            "[{% for name, all in texts_by_name.items() %}{{ name|tojson }}, {{ all|length }},{% endfor %}0]";
        assert_eq!(body(template, turn).as_deref(), Ok(r#"["b",2,"a",1,0]"#));
    }

    #[test]
    fn a_template_that_is_none_is_refused_with_its_line() {
        for (template, wanted) in [
            ("{\n{{ text | }}", "the payload template is no template that can be used: line 2: "),
            ("{% if %}", "the payload template is no template that can be used: line 1: "),
            (
                "{{ text|nofilter }}",
                "the payload template is no template that can be used: line 1: filter nofilter is unknown",
            ),
        ] {
            let error = body(template, Turn::text("a")).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    #[test]
    fn what_is_rendered_must_be_json() {
        let error = body("{\"p\": {{ text }}}", Turn::text("x".repeat(300))).unwrap_err();
        assert!(error.starts_with("Template did not render valid JSON (expected value at line 1 column 7): {\"p\": x"));
        assert!(error.len() < 400, "{error}");
        assert!(error.contains("\n  try: |tojson"), "{error}");
    }

    #[test]
    fn a_template_without_end_ends() {
        let nested = "{% for a in range(9999) %}{% for b in range(9999) %}{% set c = a %}{% endfor %}{% endfor %}1";
        assert!(body(nested, Turn::text("a")).unwrap_err().contains("cannot be filled in"));
        let recursive = "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}";
        assert!(body(recursive, Turn::text("a")).unwrap_err().contains("recursion limit"));
    }

    #[test]
    fn a_template_that_is_too_deep_is_refused() {
        for (once, times) in [("1+", 5000), ("not ", 100_000), ("-", 100_000), ("(", 100_000)] {
            let error = body(&format!("{{{{ {}1 }}}}", once.repeat(times)), Turn::text("a")).unwrap_err();
            assert!(error.contains("operators"), "{once}: {error}");
        }
        for chain in [".a", "|upper", "[0]"] {
            let error = body(&format!("{{{{ text{} }}}}", chain.repeat(200_000)), Turn::text("a")).unwrap_err();
            assert!(error.contains("operators"), "{chain}: {error}");
        }
        // As deep as it may be, on a thread as small as any.
        for deep in ["1+", "not ", "- ", "1 if 0 else "] {
            let _ = body(&format!("{{{{ {}1 }}}}", deep.repeat(140)), Turn::text("a"));
        }
        let branches = format!("{{% if a %}}1{}{{% endif %}}", "{% elif b %}2".repeat(100_000));
        assert!(body(&branches, Turn::text("a")).unwrap_err().contains("elif"));
    }

    #[test]
    fn a_template_that_makes_much_of_little_is_refused() {
        for much in [
            r#"{{ "{:>1000000000000}".format("x") }}"#,
            r#"{{ "%1000000000000d"|format(5) }}"#,
            r#"{{ "a\nb"|indent(10000000000) }}"#,
            r#"{{ "x"|indent(10000000000, true) }}"#,
            "{{ [1]|batch(10000000000, 0)|list }}",
            "{{ [1]|slice(10000000000)|list }}",
            "{{ {'a': 1}|tojson(indent=10000000000) }}",
            "{{ ([text * 1000000] * 100000)|tojson }}",
            "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
            "{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}{{ ns.s }}",
        ] {
            assert!(body(much, Turn::text("a")).is_err(), "{much}");
        }
    }

    #[test]
    fn extra_inputs_need_an_object() {
        let extra_body = serde_json::json!({"k": 1}).as_object().cloned();
        let with_extra = || Turn { extra_body: extra_body.clone(), ..Turn::text("a") };
        assert_eq!(body("{\"a\": 1}", with_extra()).as_deref(), Ok("{\"a\":1,\"k\":1}"));
        assert!(body("[1]", with_extra()).unwrap_err().contains("'k'"));
    }

    /// What templates are made of.
    const TOKENS: &[&str] = &[
        "{{",
        "}}",
        "{%",
        "%}",
        "{#",
        "#}",
        "text",
        "texts",
        "turn",
        "for",
        "in",
        "endfor",
        "if",
        "endif",
        "set",
        "=",
        "|",
        "tojson",
        "join",
        "length",
        ".",
        "[",
        "]",
        "(",
        ")",
        ":",
        "-1",
        "0",
        "2",
        "'s'",
        "'",
        "\"",
        "macro m()",
        "endmacro",
        "raw",
        "endraw",
        "loop",
        "+",
        "*",
        "~",
        ",",
        "not",
        "is",
        "none",
        "range(3)",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn no_template_is_too_odd(
            tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..20),
        ) {
            let _ = body(&tokens.join(" "), Turn::text("a"));
            let _ = body(&format!("{{{{ {} }}}}", tokens.join(" ")), Turn::text("a"));
        }
    }
}
