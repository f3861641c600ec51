//! Bulk writes and transactions of several operations: what failed, and what stands.

use super::scalars::count;
use super::walk::{MOST_ITEMS, Walk};
use crate::json::Json;

impl Walk {
    /// The failed operations of a bulk write.
    pub(super) fn bulk_errors(&mut self, value: &Json<'_>, fault: usize) {
        let (items, members) = (value.items(), value.members());
        if items.is_empty() && members.is_empty() {
            return;
        }
        let depth = self.evidence.faults.get(fault).map_or(0, |fault| fault.depth);
        let failed = u32::try_from(items.len().max(1)).unwrap_or(u32::MAX);
        let first = items.iter().filter_map(|item| {
            let index = |at: &Json<'_>| at.get("index").and_then(count);
            index(item).or_else(|| item.get("err").and_then(index))
        });
        let bulk = &mut self.evidence.bulk;
        bulk.is_bulk = true;
        bulk.failed = bulk.failed.saturating_add(failed);
        bulk.first_failed = first.min().or(bulk.first_failed);
        for item in items.iter().take(MOST_ITEMS) {
            if let Some(fault) = self.fault(depth + 1, items.len() > 1) {
                self.value(item, fault);
            }
        }
    }

    /// One reply per operation of a bulk request: `{"index": {"status": 429, "error": {…}}}`.
    pub(super) fn bulk_items(&mut self, value: &Json<'_>, fault: usize) {
        let depth = self.evidence.faults.get(fault).map_or(0, |fault| fault.depth);
        let replies = value.items().iter().filter_map(|item| item.members().first());
        let mut first = None;
        let mut failed = 0u32;
        let mut done = 0u64;
        for (index, (_, reply)) in replies.enumerate() {
            if reply.get("error").is_none() {
                done += 1;
                continue;
            }
            failed = failed.saturating_add(1);
            first = first.or(u32::try_from(index).ok());
            if usize::try_from(failed).is_ok_and(|failed| failed <= MOST_ITEMS)
                && let Some(fault) = self.fault(depth + 1, true)
            {
                self.value(reply, fault);
            }
        }
        if failed > 0 {
            let bulk = &mut self.evidence.bulk;
            bulk.is_bulk = true;
            bulk.failed = bulk.failed.saturating_add(failed);
            bulk.done = Some(bulk.done.unwrap_or(0).saturating_add(done));
            bulk.first_failed = bulk.first_failed.or(first);
        }
    }

    /// One reason per operation of a transaction that was cancelled as a whole.
    pub(super) fn cancellation_reasons(&mut self, value: &Json<'_>, fault: usize) {
        let depth = self.evidence.faults.get(fault).map_or(0, |fault| fault.depth);
        let is_reason = |item: &&Json<'_>| {
            item.members().iter().any(|(field, value)| {
                field.eq_ignore_ascii_case("code") && value.as_text().is_some_and(|code| code != "None")
            })
        };
        if value.items().is_empty() || self.is_untrusted {
            return;
        }
        self.evidence.bulk.is_cancelled_whole = true;
        self.evidence.op_index =
            value.items().iter().position(|item| is_reason(&item)).and_then(|at| u32::try_from(at).ok());
        for reason in value.items().iter().filter(is_reason).take(MOST_ITEMS) {
            if let Some(fault) = self.fault(depth + 1, false) {
                self.value(reason, fault);
            }
        }
    }

    /// The rows changed per statement of a JDBC batch: it stops at the first failure, or marks failures with -3.
    pub(super) fn update_counts(&mut self, value: &Json<'_>) {
        const FAILED: i64 = -3;
        let counts = value.items();
        let failed = counts.iter().position(|count| count.as_whole() == Some(FAILED)).unwrap_or(counts.len());
        let done = counts.iter().filter(|count| count.as_whole() != Some(FAILED)).count();
        let bulk = &mut self.evidence.bulk;
        bulk.is_bulk = true;
        bulk.failed = bulk.failed.max(1);
        bulk.done = u64::try_from(done).ok();
        bulk.first_failed = u32::try_from(failed).ok();
    }
}
