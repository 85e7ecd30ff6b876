// A store in memory that differs from the others in all that a store may differ in: its leases end with the
// client's session and are shorter than asked for, it sends no messages, answers on another thread, and has
// neither fair locks nor room for more than one fence in a grant. No program needs it; it shows that the
// contract suite asks a store for its abilities.
#pragma once

namespace holdfast::contract {

// From then on "session:name" is a URL of such a store. Once for a process is enough.
void add_session_store();

}  // namespace holdfast::contract
