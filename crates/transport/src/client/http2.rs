//! One leg over HTTP/2: a stream of a connection that others use too.

use super::{Client, Reuse, Sending, closed_before_it_came, described, leave_open, lost};
use crate::cancel::CancelReason;
use crate::clock::mono_now;
use crate::earlier_legs::begin_leg;
use crate::http2::{Http2Connection, Http2Exchange, Http2Failure, Progress};
use crate::legs::Leg;
use crate::stream_end::{END_PATIENCE, Quiet};
use crate::target::Target;
use aiperf_types::{Exchange, Failure, MonoNs, Nanos, Timeline};
use http::uri::Scheme;
use std::rc::Rc;
use std::task::Poll;

/// How often a request that is to be cancelled looks whether it was sent: nothing wakes it when it was.
const LOOK_WHETHER_SENT: Nanos = Nanos(200_000);

/// How a request on a stream ended.
enum End {
    Complete,
    SaidDone,
    Failed(Http2Failure),
    Cancelled(CancelReason),
}

impl Client {
    /// Runs one leg over a connection that others use too.
    pub(super) async fn run_http2(
        &self,
        target: &Target,
        sending: &mut Sending<'_>,
        leg: &Leg,
        exchange: &mut Exchange,
    ) -> Result<(), Failure> {
        let connection = self.http2_connection(target, sending, exchange).await?;
        let mut end = self.exchange_http2(&connection, leg, exchange, sending).await;
        if exchange.timeline.reused && end.was_not_looked_at(&exchange.timeline, mono_now()) {
            begin_leg(exchange, described(leg), mono_now());
            exchange.timeline.connection_retries += 1;
            let connection = self.http2_connection(target, sending, exchange).await?;
            end = self.exchange_http2(&connection, leg, exchange, sending).await;
        }
        match end {
            End::Complete => Ok(()),
            End::SaidDone => {
                leave_open(&mut exchange.timeline);
                Ok(())
            }
            End::Failed(failure) => Err(named(failure)),
            End::Cancelled(reason) => Err(sending.stopped(reason)),
        }
    }

    /// A connection with room for one more request.
    async fn http2_connection(
        &self,
        target: &Target,
        sending: &Sending<'_>,
        exchange: &mut Exchange,
    ) -> Result<Rc<Http2Connection>, Failure> {
        let timeline = &mut exchange.timeline;
        if self.settings.reuse == Reuse::Never {
            let open = self.open_http2(target, timeline);
            return sending.cancel.or(open).await.map_err(|reason| sending.stopped(reason))?.map(Rc::new);
        }
        // What opening notes counts only if it was this request that opened.
        let mut opening = Timeline { leg_start: timeline.leg_start, blocked: timeline.blocked, ..Timeline::default() };
        let open = async {
            if opening.blocked.1.taken().is_none() && mono_now().since(opening.leg_start) > Nanos(1_000_000) {
                opening.blocked = (opening.leg_start, mono_now());
            }
            self.open_http2(target, &mut opening).await
        };
        let found = sending.cancel.or(self.http2.get(sending.target, sending.holder, open)).await;
        let found = found.map_err(|reason| sending.stopped(reason))?;
        let found = found.inspect_err(|_| adopt(timeline, &opening))?;
        timeline.reused = found.was_open;
        if !found.was_open {
            adopt(timeline, &opening);
        } else if found.waited {
            timeline.blocked = (timeline.leg_start, mono_now());
        }
        Ok(found.connection)
    }

    async fn open_http2(&self, target: &Target, timeline: &mut Timeline) -> Result<Http2Connection, Failure> {
        let connection = self.connector.connect(target, timeline).await?;
        if target.origin.is_tls() && !connection.speaks_http2() {
            let reason = "the server does not offer HTTP/2; leave --transport http2 out".to_owned();
            return Err(Failure::Handshake { address: target.origin.address(), reason });
        }
        let scheme = if target.origin.is_tls() { Scheme::HTTPS } else { Scheme::HTTP };
        timeline.addresses = connection.addresses();
        Http2Connection::open(connection, scheme).await.map_err(named)
    }

    async fn exchange_http2(
        &self,
        connection: &Http2Connection,
        leg: &Leg,
        exchange: &mut Exchange,
        sending: &mut Sending<'_>,
    ) -> End {
        let timeline = &mut exchange.timeline;
        timeline.send_start = timeline.connect.1.taken().or(timeline.blocked.1.taken()).unwrap_or(timeline.leg_start);
        let started = Http2Exchange::start(connection, &leg.head, &leg.body, sending.kept.another());
        let mut stream = match started {
            Ok(stream) => stream,
            Err(failure) => return End::Failed(failure),
        };
        if sending.deadlines.planned.is_some()
            && let Some(end) = self.cancel_when_sent(&mut stream, exchange, sending).await
        {
            stream.close(exchange);
            return end;
        }
        let (cancel, mut patience, mut quiet) = (sending.cancel, None, Quiet::default());
        let end = std::future::poll_fn(|cx| {
            match cancel.poll(cx) {
                Some(_) if patience.is_some() => return Poll::Ready(End::SaidDone),
                Some(reason) => return Poll::Ready(End::Cancelled(reason)),
                None => {}
            }
            if cancel.take_nudge() && quiet.is_complete(exchange, self.settings.stream_end) {
                return Poll::Ready(End::SaidDone);
            }
            loop {
                match stream.poll_progress(cx, exchange) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Ok(Progress::Complete)) => {
                        sending.notify(exchange);
                        return Poll::Ready(End::Complete);
                    }
                    Poll::Ready(Err(failure)) => return Poll::Ready(End::Failed(failure)),
                    Poll::Ready(Ok(Progress::Received)) => {
                        sending.notify(exchange);
                        if patience.is_none() && self.settings.stream_end.has_come(exchange) {
                            let until = mono_now().plus(Nanos(END_PATIENCE.as_nanos() as u64));
                            patience = Some(self.timers.stop_at(until, cancel, CancelReason::LeftOpen));
                        }
                    }
                }
            }
        })
        .await;
        stream.close(exchange);
        let timeline = &mut exchange.timeline;
        timeline.head_sent = timeline.send_end;
        end
    }

    /// Waits until a request that is to be cancelled was sent or answered, and sets its end.
    async fn cancel_when_sent(
        &self,
        stream: &mut Http2Exchange,
        exchange: &mut Exchange,
        sending: &mut Sending<'_>,
    ) -> Option<End> {
        loop {
            if let Some(at) = stream.sent() {
                return sending.deadlines.note_sent(at).then_some(End::Cancelled(CancelReason::Planned));
            }
            let look = self.timers.sleep_until(mono_now().plus(LOOK_WHETHER_SENT));
            tokio::select! {
                waited = sending.cancel.or(look) => if let Err(reason) = waited { return Some(End::Cancelled(reason)) },
                progress = std::future::poll_fn(|cx| stream.poll_progress(cx, exchange)) => match progress {
                    Ok(Progress::Received) => sending.notify(exchange),
                    Ok(Progress::Complete) => {
                        sending.notify(exchange);
                        return Some(End::Complete);
                    }
                    Err(failure) => return Some(End::Failed(failure)),
                },
            }
        }
    }
}

impl End {
    /// Whether the server is known to have done nothing, or closed a connection that was idle to it.
    fn was_not_looked_at(&self, timeline: &Timeline, now: MonoNs) -> bool {
        let Self::Failed(failure) = self else { return false };
        let is_closed = matches!(failure, Http2Failure::Closed { after_head: false } | Http2Failure::Io(_));
        failure.may_be_sent_again() || is_closed && closed_before_it_came(timeline, now)
    }
}

/// Takes over what opening a connection noted.
fn adopt(timeline: &mut Timeline, opening: &Timeline) {
    timeline.blocked = opening.blocked;
    timeline.connect_wait = opening.connect_wait;
    (timeline.dns_hit, timeline.dns) = (opening.dns_hit, opening.dns);
    (timeline.connect, timeline.tls) = (opening.connect, opening.tls);
    (timeline.tls_resumed, timeline.syn_retransmits) = (opening.tls_resumed, opening.syn_retransmits);
    timeline.addresses = opening.addresses.clone();
}

fn named(failure: Http2Failure) -> Failure {
    let text = failure.to_string();
    match failure {
        Http2Failure::Request(_) => Failure::Unsendable(text),
        Http2Failure::NotProcessed | Http2Failure::Closed { after_head: false } => Failure::Disconnected,
        Http2Failure::Closed { after_head: true } | Http2Failure::Reset { after_head: true, .. } => {
            Failure::Framing(text)
        }
        Http2Failure::Protocol(_) => {
            Failure::Head(format!("{text}; where a server speaks HTTP/1.1 alone, leave --transport http2 out"))
        }
        Http2Failure::Flood { after_head: true, .. } => Failure::Framing(text),
        Http2Failure::Head(_) | Http2Failure::Reset { .. } | Http2Failure::Flood { .. } => Failure::Head(text),
        Http2Failure::Io(error) => lost(&error),
        Http2Failure::Refused(failure) => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::super::CLOSED_BEFORE;
    use super::*;

    #[test]
    fn a_request_goes_out_again_when_the_server_refused_it_or_had_closed_before_it_came() {
        const SENT: MonoNs = MonoNs(5_000_000_000);
        let closed = || End::Failed(Http2Failure::Closed { after_head: false });
        let sent = Timeline { send_start: MonoNs(1), send_end: SENT, bytes_sent: 9, ..Timeline::default() };
        let (soon, late) = (MonoNs(SENT.0 + CLOSED_BEFORE.0), MonoNs(SENT.0 + CLOSED_BEFORE.0 + 1));
        assert!(closed().was_not_looked_at(&sent, soon) && !closed().was_not_looked_at(&sent, late));
        assert!(!closed().was_not_looked_at(&Timeline { bytes_received: 1, ..sent.clone() }, soon));
        assert!(End::Failed(Http2Failure::NotProcessed).was_not_looked_at(&sent, late));
        assert!(!End::Failed(Http2Failure::Closed { after_head: true }).was_not_looked_at(&sent, soon));
    }
}
