//! Where a response has its content, in JMESPath.
//!
//! The engine has no limits of its own: a list of two copies of its input (`[@, @]`), thirty times in a row, is a value
//! that does not fit into any memory. So an expression is checked before it is used: by how much it can multiply a
//! response of any size, by the functions that it calls and by its depth.

use jmespath::ast::Ast;
use jmespath::functions::{Function, JoinFn, ToStringFn};
use jmespath::{Context, ErrorReason, Expression, JmespathError, Rcvar, Runtime, RuntimeError, Variable};
use serde_json::Value;
use std::sync::{Arc, LazyLock};

/// A valid expression.
#[derive(Clone)]
pub struct ResponseField(Arc<Expression<'static>>);

/// The parser recurses as deep as an expression is nested and has no limit: this one keeps it on its stack.
const LONGEST: usize = 1000;
/// How deep an expression may be nested.
const DEEPEST: usize = 200;
/// How often an expression may repeat the content of a response.
const GROWTH: u64 = 1000;
/// Bytes of the result of an expression, and of every text that it makes.
const FOUND: usize = 64 << 20;
/// Larger indexes and steps are refused.
const FARTHEST: i32 = 1_000_000_000;

impl ResponseField {
    /// Fails with the reason if it is no valid expression, or exceeds the limits.
    pub fn new(expression: &str) -> Result<Self, String> {
        if expression.trim().is_empty() {
            return Err("it is empty".to_owned());
        }
        if expression.len() > LONGEST {
            return Err(format!("it is longer than {LONGEST} bytes"));
        }
        let compiled = RUNTIME.compile(expression).or_else(|error| match with_quoted_literals(expression) {
            Some(quoted) => RUNTIME.compile(&quoted).map_err(|_| error),
            None => Err(error),
        });
        let compiled = compiled.map_err(|error| {
            let text = error.reason.to_string();
            format!("{} at column {}", text.lines().next().unwrap_or_default(), error.column + 1)
        })?;
        grown(compiled.as_ast(), 1, 0)?;
        Ok(Self(Arc::new(compiled)))
    }

    pub(crate) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Its result: `None` if it matches nothing or cannot be applied.
    pub(crate) fn find(&self, value: &Value) -> Option<Value> {
        let found = self.0.search(value).ok()?;
        small_enough(&found)?;
        serde_json::to_value(&*found).ok().filter(|found| !found.is_null())
    }
}

/// The engine, with bounds where a function makes a text.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Runtime::new();
    runtime.register_builtin_functions();
    let join = JoinFn::new();
    runtime.register_function(
        "join",
        Box::new(move |args: &[Rcvar], context: &mut Context<'_>| {
            let between = args.first().and_then(|glue| glue.as_string()).map_or(0, String::len);
            let items = args.get(1).and_then(|items| items.as_array()).map_or(0, Vec::len);
            if between.saturating_mul(items) > FOUND {
                return Err(too_large(context));
            }
            bounded(&join, args, context)
        }),
    );
    let to_string = ToStringFn::new();
    runtime.register_function(
        "to_string",
        Box::new(move |args: &[Rcvar], context: &mut Context<'_>| bounded(&to_string, args, context)),
    );
    runtime
});

fn bounded(function: &impl Function, args: &[Rcvar], context: &mut Context<'_>) -> Result<Rcvar, JmespathError> {
    if args.iter().any(|arg| small_enough(arg).is_none()) {
        return Err(too_large(context));
    }
    function.evaluate(args, context)
}

fn too_large(context: &Context<'_>) -> JmespathError {
    let reason = RuntimeError::InvalidReturnType {
        expected: format!("at most {FOUND} bytes"),
        actual: "more".to_owned(),
        position: 0,
        invocation: 0,
    };
    JmespathError::from_ctx(context, ErrorReason::Runtime(reason))
}

/// `None` if a value is too large once it is written out: parts of it may be the same value many times.
fn small_enough(value: &Variable) -> Option<()> {
    room_after(value, FOUND).map(drop)
}

fn room_after(value: &Variable, room: usize) -> Option<usize> {
    let room = room.checked_sub(size_of::<Value>())?;
    match value {
        Variable::String(text) => room.checked_sub(text.len()),
        Variable::Array(items) => items.iter().try_fold(room, |room, item| room_after(item, room)),
        Variable::Object(members) => {
            members.iter().try_fold(room, |room, (name, member)| room_after(member, room.checked_sub(name.len())?))
        }
        _ => Some(room),
    }
}

/// The standard functions: the number of arguments of each, `None` for any number, and which of them is an expression
/// (`&a`).
const FUNCTIONS: &[(&str, usize, Option<usize>, Option<usize>)] = &[
    ("abs", 1, Some(1), None),
    ("avg", 1, Some(1), None),
    ("ceil", 1, Some(1), None),
    ("contains", 2, Some(2), None),
    ("ends_with", 2, Some(2), None),
    ("floor", 1, Some(1), None),
    ("join", 2, Some(2), None),
    ("keys", 1, Some(1), None),
    ("length", 1, Some(1), None),
    ("map", 2, Some(2), Some(0)),
    ("max", 1, Some(1), None),
    ("max_by", 2, Some(2), Some(1)),
    ("merge", 1, None, None),
    ("min", 1, Some(1), None),
    ("min_by", 2, Some(2), Some(1)),
    ("not_null", 1, None, None),
    ("reverse", 1, Some(1), None),
    ("sort", 1, Some(1), None),
    ("sort_by", 2, Some(2), Some(1)),
    ("starts_with", 2, Some(2), None),
    ("sum", 1, Some(1), None),
    ("to_array", 1, Some(1), None),
    ("to_number", 1, Some(1), None),
    ("to_string", 1, Some(1), None),
    ("type", 1, Some(1), None),
    ("values", 1, Some(1), None),
];

/// How often the result of a node repeats the response, if its input repeats it `times` times. Nothing in the language
/// refers back to the original response, so it is a product along the path and a sum over the items of a list. Fails
/// with the reason if a node is not allowed.
fn grown(node: &Ast, times: u64, depth: usize) -> Result<u64, String> {
    if depth > DEEPEST {
        return Err(format!("it is nested deeper than {DEEPEST}"));
    }
    let of = |node: &Ast, times: u64| grown(node, times, depth + 1);
    let either = |lhs: &Ast, rhs: &Ast| Ok::<u64, String>(of(lhs, times)?.max(of(rhs, times)?));
    let together = |nodes: Vec<&Ast>| {
        let sum = nodes.into_iter().try_fold(0u64, |sum, node| Ok::<u64, String>(sum.saturating_add(of(node, times)?)));
        sum.map(|sum| sum.max(times))
    };
    let made = match node {
        Ast::Identity { .. } | Ast::Field { .. } => times,
        Ast::Literal { value, .. } => times.saturating_mul(values_in(value)),
        Ast::Index { idx, .. } => near(*idx).map(|()| times)?,
        Ast::Slice { step: 0, .. } => return Err("the step of a slice is 0".to_owned()),
        Ast::Slice { start, stop, step, .. } => {
            [*start, *stop, Some(*step)].into_iter().flatten().try_for_each(near)?;
            times
        }
        Ast::Subexpr { lhs, rhs, .. } | Ast::Projection { lhs, rhs, .. } => of(rhs, of(lhs, times)?)?,
        Ast::Flatten { node, .. } | Ast::ObjectValues { node, .. } => of(node, times)?,
        Ast::Or { lhs, rhs, .. } | Ast::And { lhs, rhs, .. } => either(lhs, rhs)?,
        Ast::Condition { predicate, then, .. } => either(predicate, then)?,
        Ast::Comparison { lhs, rhs, .. } => either(lhs, rhs).map(|_| times)?,
        Ast::Not { node, .. } => of(node, times).map(|_| times)?,
        Ast::MultiList { elements, .. } => together(elements.iter().collect())?,
        Ast::MultiHash { elements, .. } => together(elements.iter().map(|pair| &pair.value).collect())?,
        Ast::Expref { .. } => return Err("there is an expression (&) that no function applies".to_owned()),
        Ast::Function { name, args, .. } => {
            let applied = applied(name, args)?;
            let given = args.iter().enumerate().filter(|(at, _)| Some(*at) != applied.map(|(at, _)| at));
            let given: Vec<u64> = given.map(|(_, arg)| of(arg, times)).collect::<Result<_, _>>()?;
            let all = given.iter().copied().fold(0, u64::saturating_add).max(times);
            match applied {
                Some((_, expression)) => of(expression, all)?.max(all),
                None if name == "merge" => all,
                None => given.into_iter().fold(times, u64::max),
            }
        }
    };
    if made > GROWTH {
        return Err(format!("it can repeat a response more than {GROWTH} times: its lists are lists of lists"));
    }
    Ok(made)
}

/// The expression that a function applies, with its position among the arguments, if it takes one. Fails if there is no
/// such function, or none with these arguments.
fn applied<'a>(name: &str, args: &'a [Ast]) -> Result<Option<(usize, &'a Ast)>, String> {
    let Some((_, least, most, place)) = FUNCTIONS.iter().find(|(known, ..)| *known == name) else {
        return Err(format!("there is no function '{name}'"));
    };
    if args.len() < *least || most.is_some_and(|most| args.len() > most) {
        let wanted = if most.is_some() { "" } else { "at least " };
        let plural = if *least == 1 { "" } else { "s" };
        return Err(format!("{name}() takes {wanted}{least} argument{plural}, not {}", args.len()));
    }
    match place.map(|at| (at, &args[at])) {
        None => Ok(None),
        Some((at, Ast::Expref { ast, .. })) => Ok(Some((at, ast))),
        Some((at, _)) => Err(format!("argument {} of {name}() is no expression, as in &name", at + 1)),
    }
}

fn near(index: i32) -> Result<(), String> {
    // The smallest number has no opposite.
    if index.checked_abs().is_some_and(|index| index <= FARTHEST) {
        return Ok(());
    }
    Err(format!("{index} is too large for an index: the largest is {FARTHEST}"))
}

/// How many values a value is made of.
fn values_in(value: &Variable) -> u64 {
    match value {
        Variable::Array(items) => items.iter().map(|item| values_in(item)).sum::<u64>() + 1,
        Variable::Object(members) => members.values().map(|member| values_in(member)).sum::<u64>() + 1,
        _ => 1,
    }
}

/// Literals between backticks that are no JSON are strings for many implementations, Python's among them: these with
/// quotes around them. `None` where there are none.
fn with_quoted_literals(expression: &str) -> Option<String> {
    let mut out = String::new();
    let mut is_changed = false;
    for (at, part) in expression.split('`').enumerate() {
        if at > 0 {
            out.push('`');
        }
        let is_literal = at % 2 == 1;
        if is_literal && serde_json::from_str::<Value>(part).is_err() {
            out.push_str(&Value::String(part.trim_start().to_owned()).to_string());
            is_changed = true;
        } else {
            out.push_str(part);
        }
    }
    is_changed.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn found(expression: &str, value: &Value) -> Option<Value> {
        ResponseField::new(expression).unwrap().find(value)
    }

    #[test]
    fn every_standard_function_is_there() {
        let value = json!({"n": [3, 1, 2], "o": [{"k": "b"}, {"k": "a"}], "s": "abc", "m": {"x": 1}, "f": -1.5});
        for (expression, wanted) in [
            ("abs(f)", json!(1.5)),
            ("avg(n)", json!(2.0)),
            ("ceil(f)", json!(-1.0)),
            ("contains(s, 'b')", json!(true)),
            ("ends_with(s, 'c')", json!(true)),
            ("floor(f)", json!(-2.0)),
            ("join('-', o[*].k)", json!("b-a")),
            ("keys(m)", json!(["x"])),
            ("length(s)", json!(3)),
            ("map(&k, o)", json!(["b", "a"])),
            ("max(n)", json!(3)),
            ("max_by(o, &k).k", json!("b")),
            ("merge(m, `{\"y\":2}`)", json!({"x": 1, "y": 2})),
            ("min(n)", json!(1)),
            ("min_by(o, &k).k", json!("a")),
            ("not_null(nope, s)", json!("abc")),
            ("reverse(n)", json!([2, 1, 3])),
            ("sort(n)", json!([1, 2, 3])),
            ("sort_by(o, &k)[0].k", json!("a")),
            ("starts_with(s, 'a')", json!(true)),
            ("sum(n)", json!(6)),
            ("to_array(s)", json!(["abc"])),
            ("to_number('7')", json!(7)),
            ("to_string(m)", json!("{\"x\":1}")),
            ("type(s)", json!("string")),
            ("values(m)", json!([1])),
        ] {
            let got = found(expression, &value).unwrap_or_default();
            let same = got == wanted || got.as_f64().is_some_and(|got| Some(got) == wanted.as_f64());
            assert!(same, "{expression}: {got} is not {wanted}");
        }
    }

    #[test]
    fn paths_filters_slices_and_projections_are_understood() {
        let value = json!({"a": [{"k": "x", "v": 1}, {"k": "y", "v": 2}], "b": [[1, 2], [3]], "c d": {"e": "f"}});
        for (expression, wanted) in [
            ("a[?k=='y'].v | [0]", json!(2)),
            ("a[?v>`1` && k!='x'].k", json!(["y"])),
            ("a[?k==`y`].v | [0]", json!(2)),
            ("b[]", json!([1, 2, 3])),
            ("b[-1][0]", json!(3)),
            ("a[::-1].v", json!([2, 1])),
            ("\"c d\".e", json!("f")),
            ("a[0].{n: k, all: @}.n", json!("x")),
            ("nope || a[0].k", json!("x")),
            ("*.e", json!(["f"])),
            ("a[*].[k, v]", json!([["x", 1], ["y", 2]])),
        ] {
            assert_eq!(found(expression, &value), Some(wanted), "{expression}");
        }
    }

    #[test]
    fn an_expression_that_is_none_is_refused_with_a_reason() {
        for expression in ["a[", "", " ", "a..b", "foo(", "a b"] {
            assert!(ResponseField::new(expression).is_err(), "{expression}");
        }
        assert!(ResponseField::new(&"(".repeat(LONGEST)).is_err());
        assert!(ResponseField::new(&"!".repeat(LONGEST + 1)).is_err_and(|reason| reason.contains("longer")));
        for part in ["!", "[", "a.", "a||", "(", "a[?", "{a:", "f("] {
            let _ = ResponseField::new(&part.repeat(LONGEST / part.len()));
            let deep = format!("{}a", part.repeat((LONGEST - 1) / part.len()));
            let _ = ResponseField::new(&deep).map(|field| field.find(&json!({"a": 1})));
        }
    }

    #[test]
    fn an_expression_that_multiplies_is_refused_before_it_is_used() {
        for bad in [
            format!("{}to_string(@)", "[@,@]|".repeat(30)),
            format!("{}@", "[@,@][]|".repeat(24)),
            format!("@{}", ".{a:@,b:@}".repeat(24)),
            format!("{}[0]", "[*].[@,@][]|".repeat(24)),
            format!("{}@{}", "map(&[@,@],".repeat(24), ")".repeat(24)),
            format!("{}@{}", "to_array([@,@]|".repeat(12), ")".repeat(12)),
            format!("[?{}@==`1`]", "[@,@]|".repeat(24)),
            format!("!({}@)", "[@,@]|".repeat(24)),
            format!("sort_by(@,&({}@))", "[@,@]|".repeat(24)),
            "[*].[`[1,1,1,1,1,1,1,1,1,1]`][][]|".repeat(4) + "@",
        ] {
            let refused = ResponseField::new(&bad).err();
            assert!(refused.as_ref().is_some_and(|why| why.contains("more than 1000 times")), "{bad}: {refused:?}");
        }
        let deep = format!("{}@{}", "[".repeat(400), "]".repeat(400));
        assert!(ResponseField::new(&deep).is_err_and(|why| why.contains("nested")));
        let wide = "data[*].{a: a, b: b, c: c, d: d}|[*].[a, b, c, d][]|[*].[@, @][]";
        assert!(ResponseField::new(wide).is_ok());
    }

    #[test]
    fn what_cannot_be_applied_is_refused_before_it_is_used() {
        for (expression, wanted) in [
            ("nosuchfn(@)", "there is no function 'nosuchfn'"),
            ("a || [nosuchfn(@)]", "there is no function 'nosuchfn'"),
            ("length()", "length() takes 1 argument, not 0"),
            ("join(@)", "join() takes 2 arguments, not 1"),
            ("not_null()", "not_null() takes at least 1 argument, not 0"),
            ("map(@, @)", "argument 1 of map() is no expression, as in &name"),
            ("sort_by(@, a)", "argument 2 of sort_by() is no expression, as in &name"),
            ("&a", "there is an expression (&) that no function applies"),
            ("[&a, @]|map([0], [1])", "there is an expression (&) that no function applies"),
            ("a[::0]", "the step of a slice is 0"),
            ("a[5::2147483647]", "2147483647 is too large for an index: the largest is 1000000000"),
        ] {
            assert_eq!(ResponseField::new(expression).err().as_deref(), Some(wanted), "{expression}");
        }
        for (name, ..) in FUNCTIONS {
            assert!(RUNTIME.get_function(name).is_some(), "{name}");
        }
    }

    #[test]
    fn what_is_found_has_a_size() {
        let value = json!({"glue": "x".repeat(1 << 20), "items": vec!["a"; 100]});
        assert_eq!(found("join(glue, items)", &value), None);
        assert_eq!(found("join(glue, items[:2])", &value).and_then(|v| Some(v.as_str()?.len())), Some((1 << 20) + 2));
        let list = format!("[{}]", vec!["glue"; 100].join(","));
        assert_eq!(found(&list, &value), None);
        assert_eq!(found(&format!("to_string({list})"), &value), None);
    }

    /// What expressions are made of.
    const TOKENS: &[&str] = &[
        "a",
        "b",
        ".",
        "*",
        "[",
        "]",
        "[]",
        "[?",
        "==",
        "<",
        "(",
        ")",
        "@",
        "&",
        "|",
        "||",
        "`1`",
        "`x`",
        "'s'",
        "-1",
        "0",
        "99999999999",
        "::",
        ":",
        "{",
        "}",
        ",",
        "!",
        "length(",
        "sort_by(",
        "sum(",
        "join(",
        "map(",
        "to_number(",
        "avg(",
    ];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn no_expression_is_too_odd(
            tokens in prop::collection::vec(prop::sample::select(TOKENS), 0..12),
        ) {
            let value = json!({"a": [1, {"b": "x", "a": [[2.5]]}], "b": {"a": null, "b": "s"}});
            if let Ok(field) = ResponseField::new(&tokens.concat()) {
                let _ = field.find(&value);
            }
        }

        #[test]
        fn no_text_is_too_odd_for_an_expression(expression in any::<String>()) {
            let _ = ResponseField::new(&expression);
        }
    }
}
