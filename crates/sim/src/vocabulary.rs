//! The words of the simulator's responses.
//!
//! Every token is one of these words with its leading space, and each of them, space included, is a single entry of
//! `o200k_base`. That vocabulary splits text before every space, so the text of N tokens re-tokenises to exactly N
//! there; other vocabularies come close, without a guarantee.

/// How many different words there are.
pub(crate) const LENGTH: usize = WORDS.len();

/// The word at a position of a response. Successive responses start at different words.
pub(crate) fn word(number: u64, position: u32) -> &'static str {
    // An odd stride visits every word before it repeats one.
    WORDS[(number as usize).wrapping_mul(7).wrapping_add((position as usize).wrapping_mul(37)) % LENGTH]
}

#[rustfmt::skip]
const WORDS: [&str; 128] = [
    " the", " of", " and", " to", " in", " is", " that", " for", " it", " as", " was", " with", " be", " by", " on", " not",
    " he", " his", " but", " at", " are", " this", " have", " from", " which", " or", " had", " they", " you", " were", " all", " one",
    " we", " can", " her", " has", " there", " been", " if", " more", " when", " will", " would", " who", " so", " no", " out", " up",
    " into", " them", " time", " its", " only", " some", " could", " new", " two", " may", " then", " do", " first", " any", " my", " now",
    " such", " like", " our", " over", " man", " me", " even", " most", " made", " after", " also", " did", " many", " before", " must", " through",
    " back", " years", " where", " much", " your", " way", " well", " down", " should", " because", " each", " just", " those", " people", " how", " too",
    " little", " state", " good", " very", " make", " world", " still", " own", " see", " men", " work", " long", " get", " here", " between", " both",
    " life", " being", " under", " never", " day", " same", " another", " know", " while", " last", " might", " us", " great", " old", " year", " off",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_n_tokens_is_n_tokens_of_o200k_base() {
        for number in 0..LENGTH as u64 {
            for length in [1, 2, 31, 300] {
                let text: String = (0..length).map(|position| word(number, position)).collect();
                assert_eq!(aiperf_testkit::encoding::O200K.encode(&text).len(), length as usize, "{text}");
            }
        }
    }

    #[test]
    fn no_word_repeats_before_all_were_used() {
        let mut words: Vec<_> = (0..LENGTH as u32).map(|position| word(3, position)).collect();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), LENGTH);
    }

    #[test]
    fn words_need_no_escape_in_json() {
        assert!(WORDS.iter().all(|word| word.bytes().all(|byte| byte == b' ' || byte.is_ascii_lowercase())));
    }
}
