//! What a template says between its braces; everything else is the user's text.

/// What stands between `{{ }}` or `{% %}`, without the texts that it quotes and the signs that trim.
pub struct Tag {
    pub is_statement: bool,
    pub code: String,
}

/// The tags of a template, found as the engine finds them: an end within a quote or a bracket is none, and nothing in a
/// comment or a raw block is a tag.
pub fn tags(text: &str) -> Vec<Tag> {
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

/// Operators in one tag: the engine goes one deeper for each, and has no limit.
const OPERATORS: usize = 300;
/// Branches (`elif`) in one template: it goes deeper for these, too.
const BRANCHES: usize = 100;
/// Words that are operators.
const WORDS: &[&str] = &["not", "and", "or", "is", "in", "if", "else"];

/// Why the engine cannot read these tags.
pub fn excess(tags: &[Tag]) -> Option<String> {
    if tags.iter().any(|tag| operators(&tag.code) > OPERATORS) {
        return Some(format!("there are more than {OPERATORS} operators between two braces"));
    }
    let branches = tags.iter().filter(|tag| tag.is_statement && tag.code.starts_with("elif")).count();
    (branches > BRANCHES).then(|| format!("there are more than {BRANCHES} times 'elif'"))
}

/// Signs and words that make an expression deeper; those that part items and those that close do not.
fn operators(code: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let signs = code.chars().filter(|c| !is_word(*c) && !c.is_whitespace() && !",:)]}'\"".contains(*c)).count();
    signs + code.split(|c: char| !is_word(c)).filter(|word| WORDS.contains(word)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_has_so_many_operators() {
        for deep in ["1+", "not ", "-", "x if a else ", "(", "[", "a and ", "~"] {
            let text = format!("{{{{ {}1 }}}}", deep.repeat(400));
            assert!(excess(&tags(&text)).is_some_and(|why| why.contains("operators")), "{deep}");
        }
        for chain in [".a", "|upper", "[0]", "()", " is x"] {
            let text = format!("{{{{ a{} }}}}", chain.repeat(400));
            assert!(excess(&tags(&text)).is_some_and(|why| why.contains("operators")), "{chain}");
        }
        let branches = format!("{{% if a %}}{}{{% endif %}}", "{% elif b %}".repeat(101));
        assert!(excess(&tags(&branches)).is_some_and(|why| why.contains("elif")));
    }

    #[test]
    fn items_of_a_list_and_texts_are_no_operators() {
        let list = format!("{{{{ [{}1] }}}}", "'a + b', 1, ".repeat(400));
        assert_eq!(excess(&tags(&list)), None);
        let prints = "{{ a + 1 }} + ".repeat(400);
        assert_eq!(excess(&tags(&prints)), None);
    }
}
