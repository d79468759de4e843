//! How a request is answered: an exchange begins, or a response goes out at once; and what the log records of it.

use std::sync::atomic::Ordering;

use super::{Connection, Disposition, Reactor};
use crate::apis::{ApiError, Ask, ErrorBody, Output, Route};
use crate::clock::monotonic_ns;
use crate::exchange::{Exchange, ReceivedRequest};
use crate::fault::Fault;
use crate::http::{Head, Request, Status};
use crate::pages::Show;
use crate::redirect::Followed;
use crate::reply::{Extent, Outlet, Reply};
use crate::script::Purpose;
use crate::shared::Page;
use crate::slots::Task;
use crate::truth::{Payload, TruthRecord};

impl Reactor {
    pub(super) fn start_exchange(
        &mut self,
        task: Task,
        connection: &mut Connection,
        request: &Request<'_>,
    ) -> Disposition {
        let stream = task.stream;
        let asked = Route::at(request.path);
        let followed = asked.and(request.query).and_then(Followed::of_query);
        let route = asked.filter(|route| route.api.method == request.method);
        let now_ns = monotonic_ns();
        let is_lookup = route.is_some_and(|route| route.api.output == Output::Lookup);
        let number = match route {
            Some(_) if is_lookup => self.shared.lookups.fetch_add(1, Ordering::Relaxed),
            Some(_) => self.shared.requests.fetch_add(1, Ordering::Relaxed),
            None => 0,
        };
        let script = &self.shared.script;
        let purpose = if is_lookup { Purpose::Lookup } else { Purpose::Fault };
        let mut fault = match (followed, route) {
            (Some(followed), _) => script.faults.after_redirect(followed),
            (None, Some(_)) => script.faults.draw(&mut script.random(purpose, number)),
            (None, None) => None,
        };
        // A question about a job is a hook too: it can fail where its submission did not.
        if let Some(route) = route.filter(|_| is_lookup && fault.is_none()) {
            let status = self.shared.hook_status(route.path);
            fault = status.map(|status| Fault::HookStatus { status: status.0, count: None });
        }
        let truth = self.record(connection, stream, (request, route), fault.as_ref().map(Fault::name));
        if let (Some(asked), Some(Fault::Redirect(redirect))) = (asked, &fault) {
            let (row, hops) = (script.faults.row(redirect), followed.map_or(0, |followed| followed.hops));
            let location = redirect.location(row, hops, request.path, &self.shared.origin);
            let head = Head { fields: &[("location", &location)], ..Head::json(Status(redirect.status)) };
            self.shared.metrics(self.thread).record_http_response(asked.path, asked.api.method, redirect.status, 1);
            connection.closing |= !request.keep_alive;
            self.respond(connection, stream, &head, (b"", Extent::All), truth);
            return Disposition::Keep;
        }
        let Some(route) = route else {
            connection.closing |= !request.keep_alive;
            return self.respond_other(task, connection, request, truth);
        };
        let refused = match fault {
            Some(Fault::Reset) => {
                self.log(truth);
                return Disposition::Reset;
            }
            Some(Fault::Status(code) | Fault::HookStatus { status: code, .. }) => {
                Some(ApiError::of_status(Status(code)))
            }
            _ => None,
        };
        let held_for = match fault {
            Some(Fault::SlowHeaders(time)) => Some(time),
            _ => None,
        };
        let going_away = fault == Some(Fault::Goaway);
        let ask = Ask {
            api: route.api,
            path: request.path,
            number,
            fields: request.fields,
            body: request.body,
            script,
            jobs: &self.shared.jobs,
        };
        let planned = match refused {
            Some(error) => Err((error, truth)),
            None => match (route.api.read)(&ask) {
                Err(error) => Err((error, truth)),
                Ok((inference, wording)) => {
                    let reply = Reply::new(stream, request.keep_alive && !going_away, script.config.encoding);
                    let received =
                        ReceivedRequest { route, request: inference, wording, number, reply, fault, now_ns, truth };
                    Exchange::plan(script, received)
                }
            },
        };
        match planned {
            Err((error, truth)) => {
                connection.closing |= !request.keep_alive;
                self.shared.metrics(self.thread).record_http_response(route.path, route.api.method, error.status.0, 1);
                self.respond_error(connection, stream, (route.api.error)(&error), (error.status, truth));
            }
            Ok(exchange) => {
                connection.put_exchange(stream, Box::new(exchange));
                if going_away && stream > 0 {
                    self.send_goaway(connection);
                }
                match held_for {
                    Some(time) => self.timers.set(now_ns + time.as_nanos() as u64, task),
                    None => self.open(task, connection),
                }
            }
        }
        Disposition::Keep
    }

    /// What the log will record of a request, as far as it is known.
    fn record(
        &self,
        connection: &Connection,
        stream: u32,
        (request, route): (&Request<'_>, Option<Route>),
        fault: Option<&'static str>,
    ) -> Option<Box<TruthRecord>> {
        self.shared.truth.as_ref()?;
        Some(Box::new(TruthRecord {
            request_id: request.fields.request_id.unwrap_or_default().to_owned(),
            correlation_id: request.fields.correlation_id.map(str::to_owned),
            endpoint: route.map(|route| route.api.name),
            asked: None,
            method: request.method.to_owned().into(),
            path: Route::at(request.path)
                .filter(|route| !route.has_parameter())
                .map_or_else(|| request.path.to_owned().into(), |route| route.path.into()),
            connection: connection.facts(),
            stream,
            status: 200,
            fault,
            finished: false,
            received_kernel_ns: connection.arrival.kernel_ns,
            received_read_ns: connection.arrival.read_ns,
            head: None,
            chunks: Vec::new(),
            page: None,
        }))
    }

    pub(super) fn log(&self, record: Option<Box<TruthRecord>>) {
        if let (Some(truth), Some(record)) = (&self.shared.truth, record) {
            truth.send(*record);
        }
    }

    pub(super) fn respond_error(
        &mut self,
        connection: &mut Connection,
        stream: u32,
        error: ErrorBody,
        (status, truth): (Status, Option<Box<TruthRecord>>),
    ) {
        let head = Head { status, content_type: error.content_type, fields: &[] };
        self.respond(connection, stream, &head, (&error.bytes, Extent::All), truth);
    }

    /// Everything that is not inference.
    pub(super) fn respond_other(
        &mut self,
        task: Task,
        connection: &mut Connection,
        request: &Request<'_>,
        mut truth: Option<Box<TruthRecord>>,
    ) -> Disposition {
        if let Some(show) = Show::at(&self.shared.script.config, request.path)
            && matches!(request.method, "GET" | "HEAD")
        {
            return self.respond_metrics(task, connection, (show, request), truth);
        }
        let Page { handler, method, status, fault, content_type, body } =
            self.shared.page(request.method, request.path);
        self.shared.metrics(self.thread).record_http_response(handler, method, status.0, 1);
        if let Some(truth) = &mut truth {
            truth.fault = fault;
        }
        // A client that asks for a head alone would take a body for the next response.
        let extent = if request.method == "HEAD" { Extent::HeadAlone } else { Extent::All };
        let head = Head { status, content_type, fields: &[] };
        self.respond(connection, task.stream, &head, (&body, extent), truth);
        Disposition::Keep
    }

    /// Answers a request at once.
    pub(super) fn respond(
        &mut self,
        connection: &mut Connection,
        stream: u32,
        head: &Head<'_>,
        body: (&[u8], Extent),
        truth: Option<Box<TruthRecord>>,
    ) {
        let reply = Reply::new(stream, !connection.closing, None);
        self.respond_with(connection, reply, head, body, truth);
    }

    pub(super) fn respond_with(
        &mut self,
        connection: &mut Connection,
        mut reply: Reply,
        head: &Head<'_>,
        body: (&[u8], Extent),
        mut truth: Option<Box<TruthRecord>>,
    ) {
        if let Some(truth) = &mut truth {
            truth.status = head.status.0;
            truth.finished = true;
        }
        let session = connection.http2.as_mut().map(|http2| &mut http2.session);
        let mut outlet =
            Outlet { socket: &mut connection.socket, session, heads: &mut self.heads, scratch: &mut self.scratch };
        reply.whole(&mut outlet, truth.as_deref_mut(), Payload::Nothing, head, body);
        let stream = reply.stream();
        if let Some(session) = outlet.session
            && session.waiting(stream).is_some_and(|waiting| waiting.is_empty())
        {
            session.forget(stream);
        }
        self.log(truth);
    }
}
