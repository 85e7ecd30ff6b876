#include "lab/rungs/moves.hpp"

namespace holdfast::lab {

namespace {

// After this many refusals B counts as starving. A key without a TTL would refuse later tries as well.
constexpr int patience = 20;

}  // namespace

bool gets_in_too(director& d, process& b, const process& a, boot_clock::time_point a_asked) {
    const bool both = b.gets_in() && d.believes(a);
    d.must_be_before(a_asked + d.ttl());
    return both;
}

bool b_starves(director& d) {
    auto& b = d.start("B");
    d.step("B wants the lock");
    if (b.gets_in()) return false;
    if (!d.key_expires()) {
        d.step("The key has no TTL: B may try as often as it likes");
        const bool refused = b.refused(patience);
        d.remark("PTTL lock returns -1: the key stays for ever, and no living process owns it");
        return refused;
    }
    d.step("The TTL of the key passes");
    d.wait_until_gone();
    d.step("B tries again");
    b.enters();
    return false;
}

bool c_gets_in_too(director& d, process& b, boot_clock::time_point b_holds_until) {
    auto& c = d.start("C");
    d.step("C wants the lock, while B works");
    const bool in = c.gets_in();
    d.must_be_before(b_holds_until);
    return in && d.believes(b);
}

bool a_writes_after_its_check(director& d) {
    auto& a = d.start("A");
    auto& b = d.start("B");
    d.step("A takes the lock, sees that its lease is valid, and is about to write");
    a.enters();
    a.run("before_write");
    d.must_be_owned_by(a);
    d.step("A stands still right there, and the TTL passes");
    a.pause();
    d.wait_until_gone();
    d.step("B takes the lock and writes");
    b.writes();
    d.step("A goes on: it writes");
    a.resume();
    a.run(point::done);
    return d.resource() == "written by A";
}

}  // namespace holdfast::lab
