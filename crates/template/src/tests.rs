//! Hostile templates, and ones that must keep their meaning.

use crate::render::{MADE, rendered};
use crate::{FileBudget, guarded, hold, render};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;
use minijinja::{Environment, context};
use proptest::prelude::*;
use std::cell::Cell;

fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build().unwrap());
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment
}

fn given() -> Value {
    let message = |role: &str, content: &str| context! { role => role, content => content };
    context! {
        messages => vec![message("system", "Be kind."), message("user", " a<b "), message("assistant", "x\ny")],
        text => "some text",
        add_generation_prompt => true,
        numbers => vec![3, 1, 2],
        map => context! { b => 1, a => vec![1, 2] },
    }
}

/// As the engine renders it, without any check.
fn plainly(source: &str) -> Result<String, String> {
    environment().render_str(source, given()).map_err(|error| error.to_string())
}

fn held(source: &str) -> Result<String, String> {
    let source = guarded(source).map_err(|refusal| refusal.to_string())?;
    let mut environment = environment();
    hold(&mut environment);
    let template = environment.template_from_str(&source).map_err(|error| format!("{error:#}: {source}"))?;
    render(&template, &given(), &Cell::new(1 << 20)).map_err(|error| match error.line() {
        Some(line) => format!("line {line}: {error}"),
        None => error.to_string(),
    })
}

#[test]
fn a_template_on_which_the_engine_panics_is_an_error() {
    let error = held("{% for n in numbers %}{{ loop.cycle() }}{% endfor %}").unwrap_err();
    assert!(error.contains("the template engine fails"), "{error}");
    for source in ["{{ range(0, -9223372036854775808, -1)|length }}", "{{ numbers[::-9223372036854775808] }}"] {
        let _ = held(source);
    }
}

#[test]
fn a_template_means_the_same_with_checks_in_it() {
    for source in [
        "{% for message in messages %}\n  {% if message['role'] == 'user' %}\n{{ '<|' ~ message.role + '|>' }}\n  {% endif %}\n{% endfor %}end\n",
        "{%- for m in messages -%}  {{ m.content | trim }}  {%- endfor -%}  .",
        "{% for m in messages[1:] %}{{ loop.index0 * 2 + 1 }}{{ m.content[::-1] }}{% else %}none{% endfor %}",
        "{% set ns = namespace(found=false, n=0) %}{% for m in messages if m.role != 'system' %}{% set ns.found = true %}{% set ns.n = ns.n + m.content|length %}{% endfor %}{{ ns.found }} {{ ns.n }}",
        "{% macro show(a, b=[1, 2], c='x' * 3) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ show(text, c=('u' ~ 2)) }}{{ show(b=[], a=1) }}",
        "{% macro tree(n) %}({{ n }}{% if n > 0 %}{{ tree(n - 1) }}{% endif %}){% endmacro %}{{ tree(5) }}",
        "{% call(x) outer() %}{{ x ~ 1 }}{% endcall %}{% macro outer() %}{{ caller(2) }}{% endmacro %}",
        "{% macro outer() %}[{{ caller(2) }}]{% endmacro %}{% call(x) outer() %}{{ x ~ 1 }}{% endcall %}",
        "{{ -1 + 2 * -3 }} {{ 2 ** 3 * 2 }} {{ not 1 + 1 == 2 }} {{ -numbers[0]|abs }} {{ 7 // 2 % 2 }}",
        "{{ 'a' 'b' ~ 'c' * 2 }} {{ ('x', 'y')[1] }} {{ (1,)|length }} {{ {'a': 1, 'b': [2]}['b'][0] }}",
        "{{ nothing }}|{{ nothing is defined }}|{{ nothing|default('d') }}|{{ messages[0].nothing is not none }}|{{ nothing ~ 1 }}",
        "{{ 3 is in numbers }}{{ 3 is in(numbers) }}{{ 4 is not in [1, 2] }}{{ 6 is divisibleby 3 }}{{ text is eq 'some text' and true }}",
        "{{ 'e' in text }} {{ 5 not in numbers }} {{ 1 < 2 <= 2 < 3 }} {{ 'a' if text is string else 'b' }} {{ 'q' if false }}",
        "{{ text.split(' ')[1].upper() }} {{ text.replace('e', 'E') }} {{ ', '.join(['a', 'b']) }} {{ '%s-%03d'|format('a', 7) }} {{ '{}{:>4}'.format(1, 2) }}",
        "{% for key, value in map.items() %}{{ key }}={{ value }};{% endfor %}{% for (key, value) in map|dictsort %}{{ key }}{% endfor %}",
        "{% with a = 1, b = numbers|sort|join('-') %}{{ a }}{{ b }}{% endwith %}{% set a, b = 1, [2] %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}",
        "{% set body %}{{ text }}{% endset %}{{ body|upper }}{% set loud | upper %}a{{ text }}{% endset %}{{ loud }}{% filter indent(2) %}a\nb{% endfilter %}",
        "{# {{ 'comment' ~ 1 }} #}{% raw %}{{ 'raw' ~ 1 }}{% endraw %}{{ '{{ }}' }}{ {a} }",
        "{% for n in numbers recursive %}{{ n }}{% if n > 2 %}{{ loop([1]) }}{% endif %}{% endfor %}",
        "{% for n in range(1, 4) %}{{ n }}{% if n == 2 %}{% break %}{% endif %}{% endfor %}{% do numbers|list|length %}",
        "{{ numbers|reverse|list }} {{ numbers|map('string')|join }} {{ (numbers + [9])|sum }} {{ messages|map(attribute='role')|list }} {{ [1] * 3 }}",
        "{{ messages|selectattr('role', 'equalto', 'user')|map(attribute='content')|first }} {{ map|items|list }} {{ numbers|batch(2)|list }}",
        "{{ dict(map, c=3)|length }} {{ namespace(a=1) }} {{ {'a': 1}|chain({'b': 2})|dictsort }} {{ [1]|chain([2])|list }} {{ [1, 2]|zip([3, 4])|list }}",
        "line\n\n  {%+ if true +%}  kept{% endif %}\n{%- if true %}\n  x\n{%- endif %}\n{{- text -}}\n",
        "{{ f(*numbers, **map) }}",
        "{{ text[2] }}{{ text[-1] }}{{ text[numbers[1]] }}{{ -numbers[-1] }}{{ range(400)[399] }}{{ range(400).399 }}{{ numbers[text] }}{{ map['a'][1] }}{{ map[('a')] }}",
        "{{ text is lower }}{{ text is upper }}{{ text is startingwith('so') }}{{ numbers|select('gt', 1)|list }}{{ numbers|select('>', 1)|list }}{{ ['a', 'A']|unique }}",
        "{% for c in text if c != 'e' %}{{ c }}{{ loop.changed(c) }}{{ loop.cycle(*numbers) }}{% endfor %}{{ map|attr('a') }}{{ [text] == [text ~ ''] }}{{ text not in map }}",
        "{% for c in nothing %}{% else %}none{% endfor %}{{ nothing[numbers[0]] is defined }}",
        "{{ loop }}{{ 1.5e+1 }}{{ 0x1e+5 }}{{ numbers.0 }}",
        "{{ [[[numbers]]] == [[[ [3, 1, 2] ]]] }}{{ a.b.c }}",
        "{% if text is defined and text|length > 3 and not (text == 'x' or 'y' in text) %}yes{% endif %}",
        "{{ text is iterable }}{{ numbers is iterable }}{{ 1 is iterable }}{{ numbers[1:] }}{{ numbers[::-1][:1] }}",
        "{% autoescape false %}{{ '<' ~ text }}{% endautoescape %}",
    ] {
        assert_eq!(held(source), plainly(source).map_err(|_| held(source).unwrap_err()), "{source}");
    }
}

/// As `held`, with a tenth of the steps and of the bytes: a template without end is refused sooner.
fn held_shorter(source: &str) -> Result<String, String> {
    let source = guarded(source).map_err(|refusal| refusal.to_string())?;
    let mut environment = environment();
    hold(&mut environment);
    let fuel = environment.fuel().expect("steps are limited");
    environment.set_fuel(Some(fuel / 10));
    let template = environment.template_from_str(&source).map_err(|error| format!("{error:#}: {source}"))?;
    let (text, _) = rendered(&template, &given(), &Cell::new(1 << 20), (MADE / 10, MADE / 10));
    text.map(|(text, _)| text).map_err(|error| error.to_string())
}

/// Each, and a part of the reason that it is refused for.
#[test]
fn no_template_takes_the_memory_the_stack_or_the_time() {
    let nested = |open: &str, close: &str| {
        format!(
            "{{% set ns = namespace(x=1) %}}{{% for i in range(99999) %}}{{% set ns.x = {open}ns.x{close} %}}{{% endfor %}}{{{{ ns.x }}}}"
        )
    };
    let doubled = |join: &str| {
        format!(
            "{{% set ns = namespace(s='xxxxxxxx') %}}{{% for i in range(40) %}}{{% set ns.s = {join} %}}{{% endfor %}}{{{{ ns.s|length }}}}"
        )
    };
    let often = |done: &str| {
        format!(
            "{{% set s = 'x' * 900000 %}}{{% set t = s ~ '' %}}{{% set r = range(90000)|list %}}{{% for i in range(90000) %}}{{% if {done} %}}{{% endif %}}{{% endfor %}}"
        )
    };
    let (deep, large, fuel) = ("deep", "a template makes texts of at most", "fuel");
    let mut wrong = Vec::new();
    for (source, why) in [
        (nested("[", "]"), deep),
        (nested("{'a': ", "}"), deep),
        (nested("(", ",)"), deep),
        (nested("", ","), deep),
        (nested("dict(a=", ")"), deep),
        (nested("[0, [", "]]"), deep),
        (nested("[", "]|batch(1)|list"), deep),
        (nested("[", "][0:]"), deep),
        (format!("{}{{{{ x }}}}", "{% set x = [x] %}".repeat(3000)), deep),
        (format!("{}{{{{ x }}}}{}", "{% with x = [[[[[x]]]]] %}".repeat(100), "{% endwith %}".repeat(100)), deep),
        ("{% macro m(x) %}{{ m([[[[[x]]]]]) }}{% endmacro %}{{ m(1) }}".to_owned(), deep),
        ("{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}".to_owned(), "recursion limit"),
        ("{% for a in [1] recursive %}{{ loop([a]) }}{% endfor %}".to_owned(), "recursion limit"),
        ("{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}".to_owned(), "namespace"),
        ("{% set ns = namespace() %}{% set ns.a = [ns] %}{{ ns }}".to_owned(), "namespace"),
        ("{% set a = namespace() %}{% set b = namespace(a=a) %}{% set a.b = {'c': b} %}{{ a }}".to_owned(), "namespace"),
        (doubled("ns.s ~ ns.s"), large),
        (doubled("ns.s + ns.s"), large),
        (doubled("(ns.s ~ ns.s)"), large),
        (doubled("[ns.s, ns.s]|join"), large),
        (doubled("ns.s.replace('x', 'xx')"), large),
        (doubled("ns.s|replace('x', 'xx')"), large),
        (doubled("ns.s * 2"), large),
        (doubled("'%s%s'|format(ns.s, ns.s)"), large),
        (doubled("'{}{}'.format(ns.s, ns.s)"), large),
        (doubled("[ns.s, ns.s]|string"), large),
        ("{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}".to_owned(), large),
        ("{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s == ns.s }}".to_owned(), large),
        (format!("{{% set a = 'xxxx' %}}{}", "{% set a = a ~ a %}".repeat(40)), large),
        ("{% set a = 'xxxx' %}".to_owned() + &"{% set a %}{{ a }}{{ a }}{% endset %}".repeat(40), large),
        (format!("{{% macro d(s) %}}{{{{ s }}}}{{{{ s }}}}{{% endmacro %}}{{{{ {}'x'{} }}}}", "d(".repeat(40), ")".repeat(40)), large),
        ("{% macro m(s) %}{{ m(s ~ s) }}{% endmacro %}{{ m('x') }}".to_owned(), large),
        (format!("{{{{ ('x' * 90000000) {} }}}}", "~ ('x' * 90000000)".repeat(50)), large),
        (format!("{{{{ 'x' * 90000000 {} }}}}", "+ 'x' * 90000000".repeat(100)), large),
        ("{{ ([1] * 90000000) ~ '' }}".to_owned(), large),
        ("{{ [[1] * 90000000] * 90000000 }}".to_owned(), large),
        (format!("{{% set a %}}{{% for i in range(99999) %}}{}{{% endfor %}}{{% endset %}}", "x".repeat(100_000)), large),
        (format!("{{% set a %}}{{% for i in range(99999) %}}{{% raw %}}{}{{% endraw %}}{{% endfor %}}{{% endset %}}", "x".repeat(100_000)), large),
        ("{% set a %}{% for i in range(99999) %}{{ 'x' * 100000 }}{% endfor %}{% endset %}".to_owned(), large),
        ("{{ 'a'|indent(4000000000, true) }}".to_owned(), large),
        ("{{ [1]|batch(4000000000, 0) }}".to_owned(), large),
        ("{{ '{:>4000000000}'.format(1) }}".to_owned(), large),
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}".to_owned(), large),
        (
            "{% set l = range(999)|list %}{% for a in l %}{% for b in l %}{% for c in l %}{% endfor %}{% endfor %}{% endfor %}"
                .to_owned(),
            fuel,
        ),
        ("{% set l = range(99999)|list %}{% for a in range(99999) %}{% if -1 in l %}{% endif %}{% endfor %}".to_owned(), large),
        ("{% set l = range(99999)|list %}{% for a in range(99999) %}{% if -1 is in l %}{% endif %}{% endfor %}".to_owned(), large),
        ("{% set l = 'x' * 999999 %}{% for a in range(99999) %}{% if l == l ~ '' %}{% endif %}{% endfor %}".to_owned(), large),
        ("{% for a in range(9000) %}{% for b in range(500) %}{% if range(90000)[89999] %}{% endif %}{% endfor %}{% endfor %}".to_owned(), large),
        (often("s[i]"), large),
        (often("s[-1]"), large),
        (often("s[899999:]"), large),
        (often("r[89999:]"), large),
        (often("r[:1:-1]"), large),
        (often("s is iterable"), large),
        (often("s|attr(899999)"), large),
        (often("s is lower"), large),
        (often("s is not upper"), large),
        (often("[s]|select('lower')"), large),
        (often("{s: 1}[t]"), large),
        (often("{'a': 1}[s]"), large),
        (often("{'a': 1}|attr(s)"), large),
        (often("s not in {'a': 1}"), large),
        (often("[s, t]|unique"), large),
        (often("[s, t]|sort"), large),
        (often("[s, t]|max"), large),
        (often("[s] == [t]"), large),
        (often("loop.changed(s if i % 2 else t)"), large),
        (often("range(90000).89999"), large),
        (often("loop.cycle(*r)"), large),
        ("{% set s = 'x' * 900000 %}{% for i in range(90000) %}{% for c in s %}{% break %}{% endfor %}{% endfor %}".to_owned(), large),
        (format!("{{{{ {}1 }}}}", "not ".repeat(100_000)), "operators"),
        (format!("{{{{ {}", "1+".repeat(100_000)), "operators"),
        (format!("\n\n{{{{ x{} }}}}", "|upper".repeat(100_000)), "line 3: there are more than 300 operators"),
        (format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(101)), "elif"),
        (format!("{{{{ {}1{} }}}}", "[".repeat(100_000), "]".repeat(100_000)), "operators"),
        (format!("{}x{}", "{% if a %}".repeat(100_000), "{% endif %}".repeat(100_000)), "recursion"),
        ("a\n{% include 'chat' %}".to_owned(), "line 2: 'include'"),
        ("{{ debug() }}".to_owned(), "unknown"),
    ] {
        let shown: String = source.chars().take(200).collect();
        match held_shorter(&source) {
            Ok(text) => wrong.push(format!("{shown} gives {} bytes", text.len())),
            Err(error) if error.contains(why) => {}
            Err(error) => wrong.push(format!("{shown}: {}", error.chars().take(300).collect::<String>())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_is_nested_no_deeper_than_data_is_fine() {
    let source = "{% set ns = namespace(x=1) %}{% for i in range(150) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}";
    assert_eq!(held(source).unwrap(), format!("{}1{}", "[".repeat(150), "]".repeat(150)));
    // Joined step by step, a list stays flat.
    let source = "{% set ns = namespace(x=[]) %}{% for i in range(1000) %}{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.x|length }}";
    assert_eq!(held(source).unwrap(), "1000");
}

#[test]
fn literals_are_multiplied_when_a_template_is_rendered_and_not_before() {
    for (source, wanted) in [
        ("{{ 'x' * 3 }}", "{{ (('x'|__made * 3)|__made)|__text }}"),
        ("{{ 2 * ('x') * 3 }}", "{{ ((2|__made * ('x') * 3)|__made)|__text }}"),
    ] {
        assert_eq!(guarded(source).unwrap(), wanted);
        assert_eq!(held(source), plainly(source), "{source}");
    }
}

#[test]
fn errors_name_the_lines_of_the_template() {
    let error = held("{% for i in [1] %}\ntext\n{{ text|nofilter }}\n{% endfor %}").unwrap_err();
    assert!(error.contains("nofilter") && error.contains(":3"), "{error}");
}

#[test]
fn room_grows_with_what_a_template_is_given() {
    let source = guarded("{{ (text ~ text)|upper }}").unwrap();
    let mut environment = environment();
    hold(&mut environment);
    let template = environment.template_from_str(&source).unwrap();
    let text = "x".repeat(40 << 20);
    let made = render(&template, &context! { text }, &Cell::new(100 << 20)).unwrap();
    assert_eq!(made.len(), 80 << 20);
}

#[test]
fn the_templates_of_a_file_share_one_budget() {
    let budget = FileBudget::new(&given());
    let mut environment = environment();
    hold(&mut environment);
    environment.set_fuel(Some(FileBudget::FUEL));
    let rendered = |source: &str| {
        let source = guarded(source).unwrap();
        budget.render(&environment.template_from_str(&source).unwrap(), &given()).map_err(|error| error.to_string())
    };
    let nested = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}";
    assert!(rendered(nested).unwrap_err().contains("at most 500000 steps"));
    let short = "{% for i in range(20000) %}{{ i }}{% endfor %}";
    let fits = (0..20).take_while(|_| rendered(short).is_ok()).count();
    assert!((2..10).contains(&fits), "{fits}");
    assert!(rendered(short).unwrap_err().contains("at most 500000 steps"));
    assert_eq!(rendered("{{ text ~ 1 }}").unwrap(), "some text1");
    let large = "{{ ('x' * 9000000)|length }}";
    let fits = (0..20).take_while(|_| rendered(large).is_ok()).count();
    assert!((1..8).contains(&fits), "{fits}");
}

/// What templates are made of.
const PIECES: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    "+",
    "text",
    "numbers",
    "map",
    "for n in",
    "endfor",
    "if",
    "else",
    "endif",
    "set a =",
    "=",
    "|",
    "upper",
    "join",
    "length",
    ".",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
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
    "*",
    "~",
    ",",
    "not",
    "is",
    "in",
    "none",
    "range(3)",
    " ",
    "\n",
    "==",
    "1.5",
    "namespace()",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    /// Whatever the engine renders, it renders in the same way with checks.
    #[test]
    fn checks_change_no_template_that_renders(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..24)) {
        for source in [pieces.concat(), format!("{{{{ {} }}}}", pieces.join(" ")), format!("{{% if {} %}}a{{% endif %}}", pieces.join(" "))] {
            if let Ok(plain) = plainly(&source) {
                prop_assert_eq!(held(&source), Ok(plain), "{}", source);
            } else {
                let _ = held(&source);
            }
        }
    }
}

#[test]
fn the_engines_own_json_is_charged_before_it_is_made() {
    for source in ["{{ map|tojson }}", "{{ map|tojson(2) }}", "{{ map|tojson(indent=3) }}", "{{ text|tojson(true) }}"] {
        assert_eq!(held(source), plainly(source), "{source}");
    }
    for indent in ["99999999999", "indent=99999999999", "101"] {
        let refused = held(&format!("{{{{ [1]|tojson({indent}) }}}}")).unwrap_err();
        assert!(refused.contains("tojson indents by at most 100"), "{refused}");
    }
    let deep = format!("{{{{ {}range(90000)|list{}|tojson(100) }}}}", "[".repeat(16), "]".repeat(16));
    assert!(held(&deep).unwrap_err().contains("bytes in all"));
}
