//! Filters and methods of the engine that are charged for what they look at and make.

use crate::measure::{
    ITEM, Inner, charge, index_cost, is_namespace, json_bytes, measure, refused, settled, slice_cost,
};
use crate::render::FUEL;
use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, filters, tests};

/// Filters that [`crate::guarded`] writes: what is made, what becomes a text or is compared, what a namespace keeps,
/// what is indexed or looped over, and what is sliced.
pub(crate) const MADE: &str = "__made";
pub(crate) const TEXT: &str = "__text";
pub(crate) const KEPT: &str = "__kept";
pub(crate) const AT: &str = "__at";
pub(crate) const SLICED: &str = "__sliced";
/// The function that it writes into loops.
pub(crate) const ROUND: &str = "__round";

/// Puts a charge before filters of the engine. The filter itself has no name any more that a template could use.
macro_rules! hold_filters {
    ($engine:ident, $cost:expr, $($filter:ident)*) => {$(
        let unheld = Value::from_function(filters::$filter);
        $engine.add_filter(stringify!($filter), move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge($cost(&args)?)?;
            unheld.call(state, &args)
        });
    )*};
}

/// Puts a charge before tests of the engine, as filters such as `select` call them, too.
macro_rules! hold_tests {
    ($engine:ident, $cost:expr, $($test:ident: $($name:literal)*;)*) => {$($(
        let unheld = Value::from_function(tests::$test);
        $engine.add_test($name, move |state: &mut State, args: Rest<ValueOrKwargs>| -> Result<bool, Error> {
            let args = args.into_values();
            charge($cost(&args)?)?;
            Ok(unheld.call(state, &args)?.is_true())
        });
    )*)*};
}

/// Sets an engine up for what [`crate::guarded`] gives: fuel, charges, filters and methods that are charged.
pub fn hold(engine: &mut Environment<'_>) {
    engine.set_fuel(Some(FUEL));
    engine.add_filter(MADE, |value: Value| -> Result<Value, Error> { made(value, Inner::Items) });
    engine.add_filter(TEXT, |value: Value| -> Result<Value, Error> { made(value, Inner::Texts) });
    engine.add_filter(KEPT, |value: Value| -> Result<Value, Error> {
        if is_namespace(&value) {
            return Err(refused("a namespace is not kept inside of another"));
        }
        made(value, Inner::Items)
    });
    engine.add_filter(AT, |value: Value| -> Result<Value, Error> {
        charge(index_cost(&value)?)?;
        Ok(value)
    });
    engine.add_filter(SLICED, |value: Value| -> Result<Value, Error> {
        charge(slice_cost(&value)?)?;
        Ok(value)
    });
    engine.add_function(ROUND, charge);
    // It prints everything that there is.
    engine.remove_global("debug");

    hold_filters!(engine, sum, string lower upper title capitalize trim safe escape);
    hold_filters!(engine, sum, min max);
    hold_filters!(engine, looked_at, length int float first last);
    hold_filters!(engine, spread, list reverse chain zip items);
    hold_filters!(engine, each, map select reject selectattr rejectattr sum);
    hold_filters!(engine, sorted, sort unique groupby dictsort);
    hold_filters!(engine, found, attr);
    hold_filters!(engine, pieces, split lines);
    hold_filters!(engine, replaced, replace);
    hold_filters!(engine, joined, join);
    hold_filters!(engine, indented, indent);
    hold_filters!(engine, filled, batch slice);
    hold_filters!(engine, formatted, format);
    hold_filters!(engine, shown, pprint);
    hold_filters!(engine, as_json, tojson);
    // It makes a list of a text's letters.
    hold_tests!(engine, looked_at, is_iterable: "iterable";);
    hold_tests! {
        engine,
        sum,
        is_lower: "lower";
        is_upper: "upper";
        is_startingwith: "startingwith";
        is_endingwith: "endingwith";
        is_eq: "eq" "equalto" "==";
        is_ne: "ne" "!=";
        is_lt: "lt" "lessthan" "<";
        is_le: "le" "<=";
        is_gt: "gt" "greaterthan" ">";
        is_ge: "ge" ">=";
        is_in: "in";
    }
    // The same by other names.
    engine.add_filter("e", |state: &mut State, text: Value| state.apply_filter("escape", &[text]));
    engine.add_filter("count", |state: &mut State, value: Value| state.apply_filter("length", &[value]));
    engine.set_unknown_method_callback(|state, value, method, args| {
        let all: Vec<Value> = std::iter::once(value).chain(args).cloned().collect();
        charge(match method {
            "replace" => replaced(&all)?,
            "join" => joined(&[args, std::slice::from_ref(value)].concat())?,
            "format" => formatted(&all)?,
            "split" | "splitlines" => pieces(&all)?,
            _ => sum(&all)?,
        })?;
        minijinja_contrib::pycompat::unknown_method_callback(state, value, method, args)
    });
}

fn made(value: Value, inner: Inner) -> Result<Value, Error> {
    let value = settled(value)?;
    charge(measure(&value, inner)?.bytes)?;
    Ok(value)
}

fn text(value: &Value) -> Result<usize, Error> {
    Ok(measure(value, Inner::Texts)?.bytes)
}

/// As large as the arguments.
fn sum(args: &[Value]) -> Result<usize, Error> {
    args.iter().try_fold(0usize, |sum, value| Ok(sum.saturating_add(text(value)?)))
}

/// Nothing but the look at each of the arguments' items.
fn looked_at(args: &[Value]) -> Result<usize, Error> {
    args.iter().try_fold(0usize, |sum, value| Ok(sum.saturating_add(measure(value, Inner::Items)?.bytes)))
}

/// An item for each of the arguments', or for each letter.
fn spread(args: &[Value]) -> Result<usize, Error> {
    args.iter().try_fold(looked_at(args)?, |sum, value| {
        let items = value.as_str().map(str::len).or_else(|| value.len()).unwrap_or(1);
        Ok(sum.saturating_add(items.saturating_mul(ITEM)))
    })
}

/// An item for each of the first argument's, with a look at the others for each: at the path of an attribute.
fn each(args: &[Value]) -> Result<usize, Error> {
    let Some((list, rest)) = args.split_first() else { return Ok(0) };
    let items = list.as_str().map(str::len).or_else(|| list.len()).unwrap_or(1);
    Ok(spread(args)?.saturating_add(items.saturating_mul(sum(rest)?)))
}

/// Items that are compared with one another: all of their texts, once for each halving.
fn sorted(args: &[Value]) -> Result<usize, Error> {
    let Some(list) = args.first() else { return Ok(0) };
    let size = measure(list, Inner::Texts)?;
    let halvings = usize::BITS - size.items.leading_zeros();
    Ok(each(args)?.saturating_add(size.bytes.saturating_mul(halvings as usize)))
}

/// A member or an item, by its name or place.
fn found(args: &[Value]) -> Result<usize, Error> {
    let Some((value, rest)) = args.split_first() else { return Ok(0) };
    Ok(index_cost(value)?.saturating_add(sum(rest)?))
}

/// A text, in pieces.
fn pieces(args: &[Value]) -> Result<usize, Error> {
    let whole = sum(args)?;
    let Some(cut) = args.first().and_then(Value::as_str) else { return Ok(whole) };
    let count = match args.get(1).and_then(Value::as_str) {
        Some("") => cut.len(),
        Some(at) => cut.matches(at).count(),
        None => cut.chars().filter(|c| c.is_whitespace()).count(),
    };
    Ok(whole.saturating_add((count + 1).saturating_mul(ITEM)))
}

/// A text in which one is put in place of another.
fn replaced(args: &[Value]) -> Result<usize, Error> {
    let [whole, from, to, ..] = args else { return sum(args) };
    let (whole, from, to) = (text(whole)?, text(from)?, text(to)?);
    let times = whole.checked_div(from).unwrap_or(whole + 1);
    Ok(whole.saturating_add(times.saturating_mul(to)))
}

/// A list's items, with a text between them.
fn joined(args: &[Value]) -> Result<usize, Error> {
    let Some((list, rest)) = args.split_first() else { return Ok(0) };
    let size = measure(list, Inner::Texts)?;
    // The letters of a text are items.
    let items = size.items.max(list.as_str().map_or(0, str::len));
    Ok(size.bytes.saturating_add(items.saturating_mul(sum(rest)?)))
}

/// A text whose lines are moved to the right.
fn indented(args: &[Value]) -> Result<usize, Error> {
    let Some((whole, rest)) = args.split_first() else { return Ok(0) };
    let lines = whole.as_str().map_or(1, |whole| whole.matches('\n').count() + 1);
    let width = rest.iter().fold(0usize, |sum, value| sum.saturating_add(width(value)));
    Ok(text(whole)?.saturating_add(lines.saturating_mul(width)))
}

/// A list in lists of a length, filled up.
fn filled(args: &[Value]) -> Result<usize, Error> {
    let width = args.iter().skip(1).fold(0usize, |sum, value| sum.saturating_add(width(value)));
    Ok(spread(args)?.saturating_add(width.saturating_mul(ITEM)))
}

/// The text, the widths in it, and the arguments wherever one may occur. Where a width may come from an argument (`%*d`,
/// `{:{}}`), numbers are widths too.
fn formatted(args: &[Value]) -> Result<usize, Error> {
    let Some((text, args)) = args.split_first().and_then(|(text, args)| Some((text.as_str()?, args))) else {
        return sum(args);
    };
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let widths = numbers.map(|digits| digits.parse().unwrap_or(usize::MAX)).fold(0, usize::saturating_add);
    let takes_widths = text.contains('*') || text.split('}').any(|piece| piece.matches('{').count() > 1);
    let given = args.iter().try_fold(0usize, |sum, value| {
        let width = if takes_widths { width(value) } else { 0 };
        Ok::<_, Error>(sum.saturating_add(measure(value, Inner::Texts)?.bytes.max(width)))
    })?;
    let places = text.matches(['%', '{']).count();
    Ok(places.saturating_mul(given).saturating_add(widths).saturating_add(text.len()))
}

/// A value over many lines, deeper ones further to the right.
fn shown(args: &[Value]) -> Result<usize, Error> {
    let Some(value) = args.first() else { return Ok(0) };
    let size = measure(value, Inner::Texts)?;
    Ok(size.bytes.saturating_add(size.items.saturating_mul(size.depth + 1).saturating_mul(4)))
}

/// A value as JSON; what else is given is the indent.
fn as_json(args: &[Value]) -> Result<usize, Error> {
    let Some((value, rest)) = args.split_first() else { return Ok(0) };
    json_bytes(value, rest.iter().map(width).fold(0, usize::saturating_add))
}

/// A number as a width, also where it is given by name; of a text, its length.
fn width(value: &Value) -> usize {
    let named = value.try_iter().into_iter().flatten().filter(|_| value.kind() == ValueKind::Map);
    let named = named.filter_map(|name| value.get_item(&name).ok()?.as_usize());
    let text = value.as_str().map(str::len);
    value.as_usize().or(text).unwrap_or_else(|| named.fold(0, usize::saturating_add))
}
