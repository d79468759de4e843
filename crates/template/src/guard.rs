//! Checks in the source of a template, in front of everything that makes much of little.
//!
//! A leaf is an operand with all that belongs to it: `-a.b[0](c)|d is e`. Wherever one makes a value, or is joined,
//! multiplied, compared, indexed or looped over, a filter follows it that measures and charges it. No line is added, so that errors name the lines
//! of the template as it was.

use crate::held::{AT, KEPT, MADE, ROUND, SLICED, TEXT};
use crate::lexer::{Tag, Token, TokenKind, tags};
use std::fmt;

/// Operators in one tag: the engine goes one deeper for each, and has no limit.
const OPERATORS: usize = 300;
/// Branches (`elif`) in one template: it goes deeper for these, too.
const BRANCHES: usize = 100;
/// Words that are operators.
const WORDS: &[&str] = &["not", "and", "or", "is", "in", "if", "else"];
/// Statements that take in other templates: there are none.
const OTHERS: &[&str] = &["include", "import", "from", "extends"];

/// Why a template is not rendered, and the line of the tag.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub line: usize,
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

/// The source of a template with checks in it. Only an engine that [`crate::hold`] has set up can render it.
pub fn guarded(source: &str) -> Result<String, Refusal> {
    let tags = tags(source);
    refuse_excess(source, &tags)?;
    let mut edits = Edits::default();
    // Loops that are open: where the charge of a round goes, and the text up to it.
    let mut loops: Vec<(usize, &str, usize)> = Vec::new();
    let mut text = 0;
    for tag in &tags {
        text += tag.text_before;
        let Some(end) = tag.end else { break };
        let mut rewriter = Rewriter::new(&tag.tokens, &mut edits);
        match tag.tokens.first().filter(|_| tag.is_statement) {
            None => rewriter.printed(),
            Some(keyword) => rewriter.statement(keyword.text),
        }
        match tag.tokens.first().filter(|_| tag.is_statement).map(|keyword| keyword.text) {
            Some("for") => loops.push((end, tag.trim, text)),
            Some("endfor") => {
                if let Some((at, trim, before)) = loops.pop()
                    && text > before
                {
                    edits.close(at, format!("{{%{trim} do {ROUND}({}) {trim}%}}", text - before));
                }
            }
            _ => {}
        }
    }
    Ok(edits.applied(source))
}

fn refuse_excess(source: &str, tags: &[Tag<'_>]) -> Result<(), Refusal> {
    let refusal =
        |tag: &Tag<'_>, why: String| Err(Refusal { line: source[..tag.start].matches('\n').count() + 1, why });
    let mut branches = 0;
    for tag in tags {
        if tag.tokens.iter().filter(|token| is_operator(token)).count() > OPERATORS {
            return refusal(tag, format!("there are more than {OPERATORS} operators between two braces"));
        }
        let keyword = tag.tokens.first().filter(|token| tag.is_statement && token.kind == TokenKind::Word);
        branches += usize::from(keyword.is_some_and(|keyword| keyword.text == "elif"));
        if branches > BRANCHES {
            return refusal(tag, format!("there are more than {BRANCHES} times 'elif'"));
        }
        if let Some(keyword) = keyword.filter(|keyword| OTHERS.contains(&keyword.text)) {
            return refusal(tag, format!("'{}' needs another template, and there is none", keyword.text));
        }
    }
    Ok(())
}

/// Signs and words that make an expression deeper; those that part items and those that close do not.
fn is_operator(token: &Token<'_>) -> bool {
    match token.kind {
        TokenKind::Sign => !token.closes() && !matches!(token.text, "," | ":"),
        TokenKind::Word => WORDS.contains(&token.text),
        TokenKind::Number | TokenKind::Text => false,
    }
}

/// Texts to put into the source.
#[derive(Default)]
struct Edits {
    /// Where, whether it opens, its place among those of the same place, and what.
    all: Vec<(usize, bool, i64, String)>,
}

impl Edits {
    /// What is found later lies around what was found before.
    fn open(&mut self, at: usize, text: &str) {
        self.all.push((at, true, -(self.all.len() as i64), text.to_owned()));
    }

    fn close(&mut self, at: usize, text: String) {
        self.all.push((at, false, self.all.len() as i64, text));
    }

    fn applied(mut self, source: &str) -> String {
        self.all.sort_by_key(|(at, opens, place, _)| (*at, *opens, *place));
        let mut out = String::with_capacity(source.len() + self.all.len() * 10);
        let mut copied = 0;
        for (at, _, _, text) in &self.all {
            out.push_str(&source[copied..*at]);
            out.push_str(text);
            copied = *at;
        }
        out.push_str(&source[copied..]);
        out
    }
}

struct Rewriter<'t, 's> {
    tokens: &'t [Token<'s>],
    /// For each bracket, where the other one is.
    partner: Vec<usize>,
    edits: &'t mut Edits,
}

/// What a leaf is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Leaf {
    /// A name, a member, a number, a text.
    There,
    /// A value that was not there before.
    Made,
    /// Yes or no.
    Test,
}

impl<'t, 's> Rewriter<'t, 's> {
    fn new(tokens: &'t [Token<'s>], edits: &'t mut Edits) -> Self {
        let mut partner = vec![tokens.len(); tokens.len()];
        let mut open = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            if token.opens() {
                open.push(at);
            } else if token.closes()
                && let Some(opening) = open.pop()
            {
                (partner[opening], partner[at]) = (at, opening);
            }
        }
        Self { tokens, partner, edits }
    }

    fn is_sign(&self, at: usize, signs: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Sign && signs.contains(&token.text))
    }

    fn is_word(&self, at: usize, words: &[&str]) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == TokenKind::Word && words.contains(&token.text))
    }

    /// The place of a token of the outermost level.
    fn outermost(&self, from: usize, end: usize, is_it: impl Fn(&Token<'_>) -> bool) -> Option<usize> {
        let mut at = from;
        while at < end {
            if is_it(&self.tokens[at]) {
                return Some(at);
            }
            at = if self.tokens[at].opens() { self.partner[at].max(at) + 1 } else { at + 1 };
        }
        None
    }

    fn around(&mut self, from: usize, end: usize, filter: &str) {
        if from < end {
            self.edits.open(self.tokens[from].start, "(");
            self.edits.close(self.tokens[end - 1].end(), format!(")|{filter}"));
        }
    }

    /// `{{ }}`
    fn printed(&mut self) {
        let end = self.tokens.len();
        self.sequence(0, end);
        self.around(0, end, TEXT);
    }

    /// `{% %}`
    fn statement(&mut self, keyword: &str) {
        let end = self.tokens.len();
        match keyword {
            "for" => {
                let from = self.outermost(1, end, |token| token.is_word("in"));
                let from = from.map_or(end, |at| at + 1);
                self.sequence(from, end);
                let after = self.outermost(from + 1, end, |token| token.is_word("if") || token.is_word("recursive"));
                self.around(from, after.unwrap_or(end), AT);
            }
            "set" => match self.outermost(1, end, |token| token.is_sign("=")) {
                Some(sign) => {
                    let from = sign + 1;
                    self.sequence(from, end);
                    let is_member = self.tokens[1..sign].iter().any(|token| token.is_sign("."));
                    if is_member {
                        self.around(from, end, KEPT);
                    } else if self.outermost(from, end, |token| token.is_sign(",")).is_some() {
                        self.around(from, end, MADE);
                    }
                }
                None => self.insides(1, end),
            },
            "macro" | "call" | "do" | "filter" => self.insides(1, end),
            "if" | "elif" | "with" | "autoescape" => self.sequence(1, end),
            _ => {}
        }
    }

    /// What is in brackets alone.
    fn insides(&mut self, from: usize, end: usize) {
        let mut at = from;
        while at < end {
            if self.tokens[at].opens() {
                let close = self.partner[at].clamp(at, end);
                self.sequence(at + 1, close);
                at = close;
            }
            at += 1;
        }
    }

    fn begins_leaf(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        match token.kind {
            TokenKind::Word => !WORDS.contains(&token.text),
            TokenKind::Number | TokenKind::Text => true,
            TokenKind::Sign => token.opens(),
        }
    }

    /// Leaves, and what is between them.
    fn sequence(&mut self, from: usize, end: usize) {
        let mut at = from;
        while at < end {
            if !self.begins_leaf(at) {
                at += 1;
                continue;
            }
            let first = at;
            let (mut after, mut kind) = self.leaf(at, end);
            let mut multiplies = false;
            // The engine's compiler multiplies literals before anything is charged; a filter's result is no literal.
            if kind == Leaf::There && after < end && self.is_sign(after, &["*", "/", "//", "%", "**"]) {
                self.edits.close(self.tokens[after - 1].end(), format!("|{MADE}"));
            }
            while self.is_sign(after, &["*", "/", "//", "%", "**"]) && after < end {
                multiplies |= self.tokens[after].text == "*";
                let mut next = after + 1;
                while next < end && self.is_sign(next, &["-"]) {
                    next += 1;
                }
                if next >= end || !self.begins_leaf(next) {
                    break;
                }
                (after, kind) = self.leaf(next, end);
            }
            let is_beside = |signs: &[&str]| {
                let is_before = first > from && self.is_sign(first - 1, signs);
                is_before || (after < end && self.is_sign(after, signs))
            };
            let is_joined = is_beside(&["~"]);
            let is_negated = usize::from(self.is_word(after, &["not"]));
            let is_compared = is_beside(&["==", "!=", "<", ">", "<=", ">="])
                || (first > from && self.is_word(first - 1, &["in"]))
                || self.is_word(after + is_negated, &["in"]);
            // What is multiplied is in the leaf: a star before it hands its items over as arguments.
            let is_unpacked = first > from && self.is_sign(first - 1, &["*", "**"]);
            let is_added = is_unpacked || is_beside(&["+"]);
            let filter = if is_joined || is_compared { TEXT } else { MADE };
            if after < end && self.is_sign(after, &["="]) {
                // The name of an argument.
            } else if multiplies {
                self.around(first, after, filter);
            } else if is_joined || (is_compared && kind != Leaf::Test) || (is_added && kind == Leaf::There) {
                self.edits.close(self.tokens[after - 1].end(), format!("|{filter}"));
            }
            at = after.max(first + 1);
        }
    }

    /// A leaf that begins here: where it ends, and what it is.
    fn leaf(&mut self, from: usize, end: usize) -> (usize, Leaf) {
        let (mut at, mut kind) = self.operand(from, end);
        loop {
            if self.is_sign(at, &["|"]) && at < end {
                at = self.name(at + 1, end);
                if at < end && self.is_sign(at, &["("]) {
                    let close = self.partner[at].clamp(at, end);
                    self.sequence(at + 1, close);
                    at = close + 1;
                }
                kind = Leaf::Made;
            } else if self.is_word(at, &["is"]) && at < end {
                let tested = self.tokens[at - 1].end();
                at = self.name(at + 1 + usize::from(self.is_word(at + 1, &["not"])), end);
                if at < end && self.is_sign(at, &["("]) {
                    let close = self.partner[at].clamp(at, end);
                    self.edits.close(tested, format!("|{MADE}"));
                    self.sequence(at + 1, close);
                    self.each_argument(at + 1, close, MADE);
                    at = close + 1;
                } else if at < end && self.begins_argument(at) {
                    self.edits.close(tested, format!("|{MADE}"));
                    let first = at;
                    while at < end && self.is_sign(at, &["-", "+"]) {
                        at += 1;
                    }
                    if at < end && self.begins_leaf(at) {
                        at = self.operand(at, end).0;
                        self.edits.open(self.tokens[first].start, "(");
                        self.edits.close(self.tokens[at - 1].end(), format!("|{MADE})"));
                    }
                }
                kind = Leaf::Test;
            } else {
                break;
            }
        }
        let at = at.min(end);
        if kind == Leaf::Made && !self.is_sign(at, &["="]) {
            self.edits.close(self.tokens[at - 1].end(), format!("|{MADE}"));
        }
        (at, kind)
    }

    /// Arguments of what looks at them, as a test does that compares them.
    fn each_argument(&mut self, from: usize, end: usize, filter: &str) {
        let mut first = from;
        while first < end {
            let after = self.outermost(first, end, |token| token.is_sign(",")).unwrap_or(end);
            let is_plain = !self.is_sign(first + 1, &["="]) && !self.is_sign(first, &["*", "**"]);
            if after > first && is_plain {
                self.around(first, after, filter);
            }
            first = after + 1;
        }
    }

    /// Whether what follows the name of a test is its argument.
    fn begins_argument(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        match token.kind {
            TokenKind::Word => !matches!(token.text, "and" | "or" | "else" | "is"),
            TokenKind::Number | TokenKind::Text => true,
            TokenKind::Sign => matches!(token.text, "-" | "+" | "[" | "{"),
        }
    }

    /// Where the dotted name of a filter or test ends.
    fn name(&self, from: usize, end: usize) -> usize {
        let mut at = from + 1;
        while at + 1 < end && self.is_sign(at, &["."]) {
            at += 2;
        }
        at.min(end)
    }

    /// A name, text, number or bracket with its members, items and calls.
    fn operand(&mut self, from: usize, end: usize) -> (usize, Leaf) {
        let mut kind = Leaf::There;
        let mut at = from + 1;
        let first = self.tokens[from];
        if first.kind == TokenKind::Text {
            while at < end && self.tokens[at].kind == TokenKind::Text {
                at += 1;
            }
        } else if first.opens() {
            let close = self.partner[from].clamp(from, end);
            self.sequence(from + 1, close);
            let is_list = !first.is_sign("(") || self.outermost(from + 1, close, |token| token.is_sign(",")).is_some();
            kind = if is_list { Leaf::Made } else { Leaf::There };
            at = close + 1;
        }
        while at < end {
            if self.is_sign(at, &["."]) {
                if self.tokens.get(at + 1).is_some_and(|token| token.kind == TokenKind::Number) {
                    self.indexed(from, at, at + 2);
                }
                at += 2;
            } else if self.is_sign(at, &["[", "("]) {
                let close = self.partner[at].clamp(at, end);
                self.sequence(at + 1, close);
                let is_slice = self.outermost(at + 1, close, |token| token.is_sign(":")).is_some();
                let is_call = self.is_sign(at, &["("]);
                if is_slice {
                    self.charged(from, at, SLICED);
                } else if !is_call {
                    self.indexed(from, at, close);
                } else if self.is_word(at - 1, &["changed"]) {
                    self.each_argument(at + 1, close, TEXT);
                } else if self.is_word(at - 1, &["loop"]) {
                    self.each_argument(at + 1, close, AT);
                }
                kind = if is_slice || is_call { Leaf::Made } else { Leaf::There };
                at = close + 1;
            } else {
                break;
            }
        }
        (at.min(end), kind)
    }

    /// What is before an index or slice: the engine counts the letters of a text, and the items of a range.
    fn charged(&mut self, from: usize, index: usize, filter: &str) {
        self.edits.open(self.tokens[from].start, "(");
        self.edits.close(self.tokens[index - 1].end(), format!("|{filter})"));
    }

    /// An index, and what is before it. A short literal costs nothing that counts.
    fn indexed(&mut self, from: usize, index: usize, close: usize) {
        let literal = self.tokens.get(index + 1).filter(|_| close == index + 2);
        let is_short = |kind: TokenKind, most: usize| {
            literal.is_some_and(|literal| literal.kind == kind && literal.text.len() <= most)
        };
        let (is_name, is_number) = (is_short(TokenKind::Text, 64), is_short(TokenKind::Number, 2));
        if is_name || is_number {
            return;
        }
        self.charged(from, index, AT);
        if self.is_sign(index, &["["]) {
            self.around(index + 1, close, TEXT);
        }
    }
}
