//! The words for the placeholders of templates.

use super::super::prose;
use rand::{Rng, RngExt};

const NOUNS: &str = "account adapter agent alert archive asset audit backup batch binding block bucket buffer build bundle \
    cache catalog channel chart chunk client cluster column command commit config connection consumer context cookie \
    counter cursor customer dataset deadline decoder deploy device digest document domain encoder endpoint entry error \
    event export feature feed field file filter flag fragment frame gateway graph group handler header image import \
    index ingest input instance invoice item job journal kernel key label layer lease ledger limit link listener locale \
    lock log manifest message metric migration mirror model module monitor node notice object offset order output packet \
    page parser partition patch payment peer pipeline plan plugin policy pool port prefix profile project proxy query \
    queue quota range rate record region registry release replica report request resource response result retry role \
    route row rule runner sample scan schedule schema scope secret segment sensor server session shard signal slice slot \
    snapshot socket source span spec stage state step storage stream subnet summary symbol table tag target task template \
    tenant tensor thread ticket timer token topic trace tracker transfer trigger tuple update upload user value vector \
    version view volume weight widget window worker zone";
const VERBS: &str = "accept acquire append apply attach authorize balance bind build cache cancel clone collect commit \
    compact compare compile compress compute connect convert copy create decode defer delete deploy detach detect \
    dispatch drain emit encode evict expand export extract fetch filter flush format gather generate handle hash import \
    index inspect install join launch limit load lookup map merge migrate monitor notify open parse patch pause persist \
    poll prepare probe process prune publish query read rebuild record recover reduce refresh reject release reload \
    remove render repair replay report request reset resize resolve restart restore retry revoke rewrite rotate route \
    sample scan schedule search select send serialize shrink sign skip sort split start stop store stream submit sync \
    tokenize trace trim update upload validate verify wait walk warm watch wrap write";
const TYPES: &str = "str int float bool bytes Any Decimal datetime Path UUID Record Entry Token Event Metric Session";
const WORDS: &str = "active amber async atomic basic bright canary cold compact dense dirty distant eager empty exact \
    fast final frozen fresh global hidden idle inner large late lazy legacy light linear local lost minor mixed nested \
    next open orange outer partial pending plain prime public quiet random ready remote rough round safe secure shared \
    short silent simple sparse stable stale static steady strict sudden tiny total trusted urgent valid warm wide";
const ERRORS: &str = "ValueError KeyError TypeError IndexError RuntimeError TimeoutError ConnectionError PermissionError \
    NotFoundError ConflictError DecodeError QuotaExceeded InvalidState AssertionError OverflowError";
const USERS: &str = "root deploy alice bob carol dave erin frank grace build ci admin";
const EXTENSIONS: &str = "py rs go ts js json yaml toml md sql sh txt log csv";
const MARKS: &str = ": = , ; | #";

/// Whether there are words for a placeholder.
pub(super) fn is_known(name: &str) -> bool {
    PLACES.iter().any(|(known, _)| *known == name)
}

/// Draws a word for a placeholder.
pub(super) fn draw(name: &str, rng: &mut impl Rng) -> String {
    match PLACES.iter().find(|(known, _)| *known == name).map(|(_, place)| place) {
        Some(WordSource::List(list)) => pick(list, rng).to_owned(),
        Some(WordSource::Number(least, most)) => rng.random_range(*least..=*most).to_string(),
        Some(WordSource::Made(made)) => made(&mut *rng),
        None => String::new(),
    }
}

/// How the word for a placeholder is drawn.
enum WordSource {
    /// One of these words.
    List(&'static str),
    /// A number in a range, both ends included.
    Number(u32, u32),
    Made(fn(&mut dyn Rng) -> String),
}

const PLACES: &[(&str, WordSource)] = &[
    ("noun", WordSource::List(NOUNS)),
    ("verb", WordSource::List(VERBS)),
    ("type", WordSource::List(TYPES)),
    ("word", WordSource::List(WORDS)),
    ("error", WordSource::List(ERRORS)),
    ("user", WordSource::List(USERS)),
    ("ext", WordSource::List(EXTENSIONS)),
    ("mark", WordSource::List(MARKS)),
    ("digit", WordSource::Number(1, 9)),
    ("small", WordSource::Number(2, 64)),
    ("num", WordSource::Number(10, 999)),
    ("big", WordSource::Number(1024, 99_999)),
    ("float", WordSource::Made(|rng| format!("{}.{}", below(rng, 10), 10 + below(rng, 990)))),
    ("hex", WordSource::Made(|rng| format!("{:08x}", rng.next_u32()))),
    ("path", WordSource::Made(|rng| format!("/{}/{}/{}", pick(NOUNS, rng), pick(WORDS, rng), pick(NOUNS, rng)))),
    ("host", WordSource::Made(|rng| format!("{}-{}.{}.internal", pick(NOUNS, rng), below(rng, 100), pick(WORDS, rng)))),
    (
        "date",
        WordSource::Made(|rng| {
            format!("20{:02}-{:02}-{:02}", 15 + below(rng, 12), 1 + below(rng, 12), 1 + below(rng, 28))
        }),
    ),
    ("time", WordSource::Made(|rng| format!("{:02}:{:02}:{:02}", below(rng, 24), below(rng, 60), below(rng, 60)))),
    ("sentence", WordSource::Made(sentence)),
];

fn pick<R: Rng + ?Sized>(list: &'static str, rng: &mut R) -> &'static str {
    let count = list.split_ascii_whitespace().count() as u32;
    list.split_ascii_whitespace().nth(rng.random_range(0..count) as usize).unwrap_or_default()
}

fn below(rng: &mut dyn Rng, most: u32) -> u32 {
    rng.random_range(0..most)
}

fn sentence(mut rng: &mut dyn Rng) -> String {
    let mut pieces = Vec::new();
    prose::sentence(&mut rng, true, &mut pieces);
    let mut text = String::new();
    pieces.iter().for_each(|piece| piece.write(&mut text));
    let (head, tail) = text.split_at(1);
    head.to_ascii_lowercase() + tail
}
