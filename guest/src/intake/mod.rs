//! Report → evidence: whatever the driver threw, reduced to what recognising needs.
