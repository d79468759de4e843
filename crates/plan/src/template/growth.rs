//! Texts and lists that grow from step to step: what is set from itself twice doubles, and forty doublings fill any
//! memory. How large each name may get is reckoned from the template alone, in units of what it is given; what would
//! outgrow all bounds is refused before it is rendered.

use super::Tag;
use std::collections::BTreeMap;

/// How many times what it is given a template may keep of it in one name.
const MOST: u64 = 20_000;
/// Rounds of a loop that are reckoned through: enough to tell what doubles from what is added to.
const ROUNDS: usize = 24;

/// Statements for which there is no use in a template that stands alone, and which call themselves or one another.
const UNKNOWN: &[&str] = &["include", "import", "from", "extends", "block", "call"];

/// Why a template is not rendered: a name in it grows too much.
pub fn growth(tags: &[Tag]) -> Option<String> {
    // A list times a number takes no room until it is a text, and `~` makes one of it that nothing can hold.
    let has = |operator: char| tags.iter().any(|tag| tag.code.contains(operator));
    if has('~') && has('*') {
        let why = "a template that joins texts with ~ does not multiply: {{ a }}{{ b * 2 }} joins without it";
        return Some(why.to_owned());
    }
    let mut reckoning = Reckoning { sizes: BTreeMap::new(), macros: BTreeMap::new(), kept: Vec::new() };
    let macros = tags.iter().filter(|tag| first(tag) == Some("macro")).filter_map(|tag| name_after(tag, "macro"));
    reckoning.macros = macros.map(|name| (name.to_owned(), None)).collect();
    reckoning.all(tags, false).err()
}

/// The word that a statement begins with.
fn first(tag: &Tag) -> Option<&str> {
    words(&tag.code).next().filter(|_| tag.is_statement)
}

fn name_after<'t>(tag: &'t Tag, keyword: &str) -> Option<&'t str> {
    words(tag.code.strip_prefix(keyword)?).next()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_word(c)).filter(|word| !word.is_empty())
}

struct Reckoning {
    /// Of names; of all others it is 1.
    sizes: BTreeMap<String, u64>,
    /// What a macro makes of an argument of size 1, once it is known.
    macros: BTreeMap<String, Option<u64>>,
    /// Outputs that are kept in place of being written: what each is kept in, and its size so far.
    kept: Vec<(Vec<String>, u64)>,
}

impl Reckoning {
    fn all(&mut self, tags: &[Tag], in_loop: bool) -> Result<(), String> {
        let mut at = 0;
        while let Some(tag) = tags.get(at) {
            at += 1;
            match first(tag) {
                Some(word) if UNKNOWN.contains(&word) => {
                    return Err(format!("'{word}' is not known in templates that stand alone"));
                }
                Some("for") => {
                    if words(&tag.code).any(|word| word == "recursive") {
                        return Err("'recursive' is not known in templates that stand alone".to_owned());
                    }
                    let (targets, of) = tag.code["for".len()..].split_once(" in ").unwrap_or(("", &tag.code));
                    let size = self.size(of)?;
                    self.set(words(targets), size)?;
                    let end = closing(tags, at);
                    // What doubles in an inner loop does so in every round of the outer one.
                    for _ in 0..if in_loop { 1 } else { ROUNDS } {
                        self.all(&tags[at..end], true)?;
                    }
                    at = end;
                }
                Some("macro") => self.keep(name_after(tag, "macro").into_iter()),
                Some("set") | Some("with") => {
                    let rest = &tag.code[first(tag).map_or(0, str::len)..];
                    match assigned(rest) {
                        Some((names, values)) => {
                            let size = self.size(values)?;
                            self.set(names.into_iter(), size)?;
                        }
                        None if first(tag) == Some("set") => self.keep(words(rest).take(1)),
                        None => {}
                    }
                }
                Some("filter") => self.keep(std::iter::empty()),
                Some("endset" | "endfilter" | "endmacro") => {
                    let Some((names, size)) = self.kept.pop() else { continue };
                    if first(tag) == Some("endmacro") {
                        self.macros.extend(names.into_iter().map(|name| (name, Some(size))));
                    } else {
                        self.set(names.iter().map(String::as_str), size)?;
                        self.print(if names.is_empty() { size } else { 0 });
                    }
                }
                // Conditions make nothing, but what they look at is made.
                Some(_) => drop(self.size(&tag.code)?),
                None => {
                    let size = self.size(&tag.code)?;
                    self.print(size);
                }
            }
        }
        Ok(())
    }

    fn keep<'n>(&mut self, names: impl Iterator<Item = &'n str>) {
        self.kept.push((names.map(str::to_owned).collect(), 1));
    }

    fn print(&mut self, size: u64) {
        if let Some((_, kept)) = self.kept.last_mut() {
            *kept = kept.saturating_add(size);
        }
    }

    fn set<'n>(&mut self, names: impl Iterator<Item = &'n str>, size: u64) -> Result<(), String> {
        for name in names {
            if size > MOST {
                return Err(format!("'{name}' grows without bound: it is made of itself more than once"));
            }
            let known = self.sizes.entry(name.to_owned()).or_insert(1);
            *known = size.max(*known);
        }
        Ok(())
    }

    /// What an expression makes is at most all that it names, together; a macro makes more of it.
    fn size(&self, code: &str) -> Result<u64, String> {
        let mut rest = code;
        let mut sum = 0;
        // A bracket too many ends nothing.
        while !rest.is_empty() {
            let (size, after) = self.up_to_bracket(rest)?;
            (sum, rest) = (size.saturating_add(sum), after);
        }
        if sum > MOST {
            return Err("what it puts together grows without bound".to_owned());
        }
        Ok(sum)
    }

    /// The size of an expression up to the bracket that closes it, and what follows.
    fn up_to_bracket<'c>(&self, code: &'c str) -> Result<(u64, &'c str), String> {
        let (mut sum, mut rest) = (0u64, code);
        let (mut factor, mut is_member) = (1, false);
        while let Some(c) = rest.chars().next() {
            if is_word(c) {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(end);
                rest = after.trim_start();
                factor = match self.macros.get(word) {
                    Some(Some(made)) if rest.starts_with('(') => *made,
                    Some(None) => return Err(format!("the macro '{word}' is called by itself, or before its end")),
                    _ => 1,
                };
                let size = self.sizes.get(word).copied().unwrap_or(1);
                sum = sum.saturating_add(if is_member { 0 } else { size });
                is_member = false;
                continue;
            }
            rest = &rest[c.len_utf8()..];
            match c {
                '(' => {
                    let (inside, after) = self.up_to_bracket(rest)?;
                    sum = sum.saturating_add(inside.max(1).saturating_mul(factor));
                    rest = after;
                }
                ')' => return Ok((sum, rest)),
                _ => {}
            }
            (factor, is_member) = (1, c == '.');
        }
        Ok((sum, rest))
    }
}

/// The names that a statement sets, and what it sets them to; `None` where it sets nothing.
fn assigned(code: &str) -> Option<(Vec<&str>, &str)> {
    let mut depth = 0i64;
    let mut signs = Vec::new();
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            '=' if depth == 0 && !code[at + 1..].starts_with('=') && !code[..at].ends_with(['=', '!', '<', '>']) => {
                signs.push(at);
            }
            _ => {}
        }
    }
    let (sign, others) = signs.split_first()?;
    // What a member is set to is kept with what it is a member of.
    let targets = code[..*sign].split(',').filter_map(|target| words(target).next());
    let names = targets.chain(others.iter().filter_map(|at| words(&code[..*at]).last()));
    Some((names.collect(), &code[sign + 1..]))
}

/// Where the end of a loop stands whose tags begin here.
fn closing(tags: &[Tag], from: usize) -> usize {
    let mut depth = 0;
    for (at, tag) in tags.iter().enumerate().skip(from) {
        match first(tag) {
            Some("for") => depth += 1,
            Some("endfor") if depth == 0 => return at,
            Some("endfor") => depth -= 1,
            _ => {}
        }
    }
    tags.len()
}

#[cfg(test)]
mod tests {
    use super::super::tags;
    use super::*;

    fn refused(text: &str) -> Option<String> {
        growth(&tags(text))
    }

    #[test]
    fn what_doubles_is_refused() {
        let nested = |name: &str| format!("{}'x'{}", format!("{name}(").repeat(40), ")".repeat(40));
        for bad in [
            "{% set ns = namespace(s='x') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}"
                .to_owned(),
            "{% set ns = namespace(s=[1]) %}{% for i in range(40) %}{% set ns.s = ns.s + ns.s %}{% endfor %}"
                .to_owned(),
            "{% for a in b %}{% for i in c %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{% endfor %}".to_owned(),
            "{% for i in c %}{% set ns.a = ns.a ~ ns.b %}{% set ns.b = ns.a ~ ns.b %}{% endfor %}".to_owned(),
            format!("{{% set a = 'x' %}}{}", "{% set a = a ~ a %}".repeat(40)),
            "{% set a %}{{ a }}{{ a }}{% endset %}".repeat(40),
            format!("{{% macro d(s) %}}{{{{ s }}}}{{{{ s }}}}{{% endmacro %}}{{{{ {} }}}}", nested("d")),
            "{% macro m(s) %}{{ m(s ~ s) }}{% endmacro %}{{ m('x') }}".to_owned(),
            "{% with a = b, c = d ~ d, d = c ~ c %}".repeat(20),
            "{% for a in b recursive %}{{ loop(a ~ a) }}{% endfor %}".to_owned(),
            "{% include 'payload' %}".to_owned(),
            "{{ [1] * 100000000 ~ '' }}".to_owned(),
        ] {
            assert!(refused(&bad).is_some(), "{bad}");
        }
    }

    #[test]
    fn what_is_added_to_is_fine() {
        for fine in [
            "{% set ns = namespace(s='') %}{% for t in texts %}{% set ns.s = ns.s ~ t ~ ', ' %}{% endfor %}{{ ns.s }}",
            "{% set ns = namespace(n=0) %}{% for t in texts %}{% for u in t %}{% set ns.n = ns.n + 1 %}{% endfor %}{% endfor %}",
            "{% macro m(t) %}{\"a\": {{ t|tojson }}}{% endmacro %}[{{ m(text) }}, {{ m(text) }}, {{ m(image) }}]",
            "{% set a = 'x' %}{% if a == 'x' and b >= 2 %}{% set a = a|trim %}{% elif c != 1 %}{% endif %}{{ a }}",
            "{% set body %}{{ text }}{% endset %}{{ body|tojson }}",
            "{% filter upper %}{{ text }}{% endfilter %}",
            "{% set a, b = b, a %}{% set include = 1 %}",
        ] {
            assert_eq!(refused(fine), None, "{fine}");
        }
    }
}
