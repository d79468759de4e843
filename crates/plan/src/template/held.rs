//! Filters and methods that make more of what they are given, held to a size.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters};

/// Bytes of a text or list that a filter or method makes.
const MADE: usize = 64 << 20;
/// Bytes of one item of a list, whatever it is.
const ITEM: usize = 24;
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
pub fn hold(engine: &mut Environment<'_>) {
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

/// Whether a value, as text or list, has at most so many bytes.
pub fn is_within(value: &Value, most: usize) -> bool {
    bytes(value, most) <= most
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
        // A list that is not there as a whole would be gone through once more for each of its items.
        let member = is_map.then(|| value.get_item(&item).ok()).flatten();
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
    use minijinja::context;

    /// Were each item looked up once more, this would take a minute.
    #[test]
    fn a_list_that_is_made_as_it_is_read_is_gone_through_once() {
        let mut engine = Environment::new();
        hold(&mut engine);
        let text = engine.render_str("{{ range(99999)|join('x') }}", context! {}).unwrap();
        assert_eq!((text.len(), &text[..8]), (588_883, "0x1x2x3x"));
    }

    #[test]
    fn members_of_a_map_count_as_much_as_their_names() {
        let map = Value::from_iter([("a".to_owned(), Value::from("x".repeat(1000)))]);
        assert!(is_within(&map, 1100) && !is_within(&map, 1000));
    }
}
