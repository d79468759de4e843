//! What a template of a file may not do: grow without bound. Output is counted while it is written, but a text that is
//! put together inside a template is not, and thirty doublings fill any memory. So what carries a text from one step to
//! the next (macros, namespaces, blocks that are kept) is refused, and what joins texts is counted.

use aiperf_plan::template::{excess, tags};

/// Operators in one template that join two texts; each may double one.
const JOINED: usize = 10;

/// Statements that carry a text from one step to the next.
const CARRIERS: &[&str] = &["macro", "call", "endset", "endfilter"];
/// Functions that do.
pub(super) const CARRYING: &[&str] = &["namespace"];

/// Why a template is not rendered that may not use these functions, by what stands between its braces; everything else
/// is the user's text.
pub(super) fn refusal(text: &str, carries: &[&str]) -> Option<String> {
    let tags = tags(text);
    if let Some(why) = excess(&tags) {
        return Some(why);
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let carrier = tags.iter().find_map(|tag| {
        let mut words = tag.code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        let first = words.clone().next().filter(|word| tag.is_statement && CARRIERS.contains(word));
        first.or_else(|| words.find(|word| carries.contains(word)))
    });
    if let Some(carrier) = carrier {
        return Some(format!("'{carrier}' is not known in the templates of a file"));
    }
    // A list times a number takes no room until it is a text, and `~` makes one of it that nothing can hold.
    let has = |operator: char| tags.iter().any(|tag| tag.code.contains(operator));
    if has('~') && has('*') {
        return Some(
            "a template that joins texts with ~ does not multiply: {{ a }}{{ b * 2 }} joins without it".into(),
        );
    }
    let joined = tags.iter().map(|tag| tag.code.matches(['~', '+']).count()).sum::<usize>();
    (joined > JOINED).then(|| format!("a template joins texts at most {JOINED} times"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stands_between_the_braces_is_looked_at() {
        for fine in [
            "{% if x %}Please call me, macro + namespace{% endif %}",
            "{{ 'call ' ~ \"a \\\" macro\" }}",
            "{{ a }} ~~~~~~~~~~~~ ++++++++++++",
            "{{ a ~ '*' }} * {{ b }}",
            "{# {% macro a() %} #}",
            "{% raw %}{{ '{% macro %}{% endraw %}",
            "{{ call }}",
        ] {
            assert_eq!(refusal(fine, CARRYING), None, "{fine}");
        }
    }

    #[test]
    fn nothing_hides_a_statement() {
        for (text, carrier) in [
            ("{%- macro a() %}", "macro"),
            ("{{ '}}' }}{%+ call a() %}", "call"),
            ("{{ {'a': {'b': 1}}['a'] }}{% set x %}a{% endset %}", "endset"),
            ("{% raw %}{{ '{% endraw -%}{% macro a() %}", "macro"),
            ("{# ' #}{% macro a() %}", "macro"),
            ("{{ {'a':{'b':1}} ~ namespace() }}", "namespace"),
        ] {
            let said = refusal(text, CARRYING);
            assert!(said.as_ref().is_some_and(|said| said.contains(&format!("'{carrier}'"))), "{text}: {said:?}");
        }
        assert!(refusal(&format!("{{{{ {{'a':{{'b':1}}}}{} }}}}", " ~ x".repeat(11)), CARRYING).is_some());
    }
}
