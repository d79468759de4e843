//! What a template may not do: grow without bound. Output is counted while it is written, but a text that is put
//! together inside a template is not, and thirty doublings fill any memory. So what carries a text from one step to the
//! next (macros, namespaces, blocks that are kept) is refused, what joins texts is counted, and what multiplies them is
//! held to a size.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

/// Bytes of a text or list that a filter or method makes.
const MADE: usize = 64 << 20;
/// Bytes of one item of a list, whatever it is.
const ITEM: usize = 24;
/// Operators in one template that join two texts; each may double one.
const JOINED: usize = 10;

/// Statements that carry a text from one step to the next.
const CARRIERS: &[&str] = &["macro", "call", "endset", "endfilter"];
/// The function that does.
const CARRYING: &str = "namespace";

/// Why a template is not rendered, by what stands between its braces; everything else is the user's text.
pub(super) fn refusal(text: &str) -> Option<String> {
    let tags = tags(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let carrier = tags.iter().find_map(|tag| {
        let mut words = tag.code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty());
        let first = words.clone().next().filter(|word| tag.is_statement && CARRIERS.contains(word));
        first.or_else(|| words.find(|word| *word == CARRYING))
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

/// What stands between `{{ }}` or `{% %}`, without the texts that it quotes and the signs that trim.
struct Tag {
    is_statement: bool,
    code: String,
}

/// The tags of a template, found as the engine finds them: an end within a quote or a bracket is none, and nothing in a
/// comment or a raw block is a tag.
fn tags(text: &str) -> Vec<Tag> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        rest = &rest[at + 1..];
        let (end, is_statement) = match rest.chars().next() {
            Some('{') => ("}}", false),
            Some('%') => ("%}", true),
            Some('#') => {
                rest = rest[1..].split_once("#}").map_or("", |(_, after)| after);
                continue;
            }
            _ => continue,
        };
        let (code, after) = code(&rest[1..], end);
        let code = code.trim_matches(['-', '+']).trim().to_owned();
        rest = if is_statement && code == "raw" { after_raw(after) } else { after };
        out.push(Tag { is_statement, code });
    }
    out
}

/// The code of a tag up to its end, and what follows it.
fn code<'t>(text: &'t str, end: &str) -> (String, &'t str) {
    let mut out = String::new();
    let mut depth = 0i64;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        if depth == 0 && text[at..].starts_with(end) {
            return (out, &text[at + end.len()..]);
        }
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '\'' | '"' => {
                while let Some((_, inside)) = chars.next().filter(|(_, inside)| *inside != c) {
                    if inside == '\\' {
                        chars.next();
                    }
                }
            }
            _ => {}
        }
        out.push(c);
    }
    (out, "")
}

/// What follows the end of a raw block.
fn after_raw(text: &str) -> &str {
    let mut rest = text;
    while let Some((_, tag)) = rest.split_once("{%") {
        rest = tag;
        let inside = tag.strip_prefix(['-', '+']).unwrap_or(tag).trim_start();
        let Some(after) = inside.strip_prefix("endraw").map(str::trim_start) else { continue };
        if let Some(after) = after.strip_prefix(['-', '+']).unwrap_or(after).strip_prefix("%}") {
            return after;
        }
    }
    ""
}

/// Puts a check before filters of the engine: what they make of their arguments must be small enough. The filter itself
/// has no name any more that a template could say.
macro_rules! hold_filters {
    ($engine:ident, $check:ident: $($filter:ident)*) => {$(
        let unheld = Value::from_function(filters::$filter);
        $engine.add_filter(stringify!($filter), move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            $check(&args)?;
            unheld.call(state, &args)
        });
    )*};
}

/// Holds filters and methods that make more of what they are given.
pub(super) fn hold(engine: &mut Environment<'_>) {
    hold_filters!(engine, small_product: replace join indent batch slice);
    hold_filters!(engine, small_sum: string pprint lower upper title capitalize trim split lines safe escape sum);
    hold_filters!(engine, small_sum: list sort reverse unique map select reject selectattr rejectattr);
    hold_filters!(engine, small_sum: groupby dictsort items);
    // The same by another name.
    engine.add_filter("e", |state: &mut State, text: Value| state.apply_filter("escape", &[text]));
    hold_filters!(engine, small_format: format);
    engine.set_unknown_method_callback(|state, value, method, args| {
        let all = || std::iter::once(value).chain(args).cloned().collect::<Vec<_>>();
        match method {
            "replace" | "join" => small_product(&all())?,
            "format" => small_format(&all())?,
            _ => {}
        }
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)
    });
}

/// What is made is at most the product of the arguments: of their sizes, and of numbers that are widths.
fn small_product(args: &[Value]) -> Result<(), Error> {
    let size = |value: &Value| value.as_usize().unwrap_or_else(|| bytes(value, MADE).max(width(value))).max(1);
    at_most_made(args.iter().fold(1usize, |product, value| product.saturating_mul(size(value))))
}

/// What is made is as large as the arguments.
fn small_sum(args: &[Value]) -> Result<(), Error> {
    at_most_made(args.iter().fold(0usize, |sum, value| sum.saturating_add(bytes(value, MADE))))
}

/// What is made is the text, the widths in it, and the arguments wherever one may stand. Where a width may come from an
/// argument (`%*d`, `{:{}}`), numbers are widths too.
fn small_format(args: &[Value]) -> Result<(), Error> {
    let Some((text, args)) = args.split_first().and_then(|(text, args)| Some((text.as_str()?, args))) else {
        return Ok(());
    };
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = numbers.map(|digits| digits.parse().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
    let takes_widths = text.contains('*') || text.split('}').any(|piece| piece.matches('{').count() > 1);
    let width = |value: &Value| if takes_widths { width(value) } else { 0 };
    let given = args.iter().map(|value| bytes(value, MADE).max(width(value))).fold(0, usize::saturating_add);
    let places = text.matches(['%', '{']).count();
    at_most_made(places.saturating_mul(given).saturating_add(widths).saturating_add(text.len()))
}

/// A number as a width, also where it is given by name.
fn width(value: &Value) -> usize {
    let named = value.try_iter().into_iter().flatten().filter(|_| value.kind() == ValueKind::Map);
    let named = named.filter_map(|name| value.get_item(&name).ok()?.as_usize());
    value.as_usize().unwrap_or_else(|| named.fold(0, usize::saturating_add))
}

/// Bytes of a value as text or list, counted until there are too many.
fn bytes(value: &Value, most: usize) -> usize {
    if let Some(text) = value.as_str() {
        return text.len();
    }
    let is_map = value.kind() == ValueKind::Map;
    if !is_map && !matches!(value.kind(), ValueKind::Seq | ValueKind::Iterable) {
        return ITEM;
    }
    let mut sum = 0usize;
    // The items of a map are its names.
    for item in value.try_iter().into_iter().flatten() {
        let member = value.get_item(&item).ok().filter(|_| is_map);
        for one in std::iter::once(item).chain(member) {
            sum = sum.saturating_add(ITEM).saturating_add(bytes(&one, most.saturating_sub(sum)));
        }
        if sum > most {
            break;
        }
    }
    sum
}

fn at_most_made(size: usize) -> Result<(), Error> {
    if size <= MADE {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidOperation, format!("a template makes texts of at most {MADE} bytes")))
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
            assert_eq!(refusal(fine), None, "{fine}");
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
            let said = refusal(text);
            assert!(said.as_ref().is_some_and(|said| said.contains(&format!("'{carrier}'"))), "{text}: {said:?}");
        }
        assert!(refusal(&format!("{{{{ {{'a':{{'b':1}}}}{} }}}}", " ~ x".repeat(11))).is_some());
    }
}
