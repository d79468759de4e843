//! Redirects: their targets, and how many precede the response.

use std::sync::Arc;

/// Where a redirect leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To a path.
    Relative,
    /// To a whole URL of this server.
    Absolute,
    /// To the same path of another origin, such as `http://127.0.0.1:9000`.
    Origin(Arc<str>),
}

/// Responses that send the client elsewhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// 301, 302, 303, 307 or 308.
    pub status: u16,
    /// Redirects before the response; without end when there is no number.
    pub hops: Option<u32>,
    pub target: Target,
}

impl Redirect {
    pub(crate) const STATUSES: [u16; 5] = [301, 302, 303, 307, 308];

    /// Reads `STATUS[,HOPS|endless][,relative|absolute|ORIGIN]`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut words = text.split(',');
        let status = words.next().unwrap_or_default();
        let status = status
            .parse()
            .ok()
            .filter(|status| Self::STATUSES.contains(status))
            .ok_or_else(|| format!("`{status}` is none of 301, 302, 303, 307, 308"))?;
        let mut redirect = Redirect { status, hops: Some(1), target: Target::Relative };
        for word in words {
            match word {
                "endless" => redirect.hops = None,
                "relative" => redirect.target = Target::Relative,
                "absolute" => redirect.target = Target::Absolute,
                origin if origin.starts_with("http://") || origin.starts_with("https://") => {
                    redirect.target = Target::Origin(origin.trim_end_matches('/').into());
                }
                hops => match hops.parse::<u32>() {
                    Ok(hops) if hops > 0 => redirect.hops = Some(hops),
                    _ => {
                        let known = "a number of hops, endless, relative, absolute or an origin such as http://host:80";
                        return Err(format!("`{hops}` is not {known}"));
                    }
                },
            }
        }
        Ok(redirect)
    }

    /// The location after `followed` redirects; `row` distinguishes the redirects of one server.
    pub(crate) fn location(&self, row: usize, followed: u32, path: &str, this_origin: &str) -> String {
        let origin = match &self.target {
            Target::Relative => "",
            Target::Absolute => this_origin,
            Target::Origin(origin) => origin,
        };
        // Without end the location stays the same: a loop.
        let next = if self.hops.is_some() { followed.saturating_add(1) } else { 1 };
        format!("{origin}{path}?redirect={row}.{next}")
    }

    /// Whether another redirect comes after so many.
    pub(crate) fn goes_on(&self, followed: u32) -> bool {
        self.hops.is_none_or(|hops| followed < hops)
    }
}

/// The redirects that led to a request, by its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) row: usize,
    pub(crate) hops: u32,
}

impl Followed {
    pub(crate) fn of_query(query: &str) -> Option<Self> {
        let value = query.split('&').find_map(|member| member.strip_prefix("redirect="))?;
        let (row, hops) = value.split_once('.')?;
        Some(Followed { row: row.parse().ok()?, hops: hops.parse().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_counts_the_redirects_that_led_to_it() {
        let redirect = Redirect::parse("307,2,absolute").unwrap();
        let location = redirect.location(3, 1, "/v1/completions", "http://here:80");
        assert_eq!(location, "http://here:80/v1/completions?redirect=3.2");
        let followed = Followed::of_query(location.split_once('?').unwrap().1).unwrap();
        assert_eq!(followed, Followed { row: 3, hops: 2 });
        assert!(redirect.goes_on(1) && !redirect.goes_on(2));
        let other = Redirect::parse("302,http://there:81/").unwrap();
        assert_eq!(other.location(0, 0, "/x", "http://here:80"), "http://there:81/x?redirect=0.1");
    }

    #[test]
    fn a_loop_leads_to_itself() {
        let redirect = Redirect::parse("308,endless").unwrap();
        assert_eq!(redirect.location(0, 0, "/x", ""), redirect.location(0, 1, "/x", ""));
        assert!(redirect.goes_on(u32::MAX));
    }
}
