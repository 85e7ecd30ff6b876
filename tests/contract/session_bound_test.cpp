// Where leases end with the client's session, each grant says until when the session was proved.
#include "backends/registry.hpp"
#include "contract/lock_contract.hpp"
#include "io/reactor.hpp"

namespace holdfast::contract {
namespace {

class session_contract : public lock_contract {};

// A shared mutex is named by its writer.
bool a_lease_of_a_session(const subject& s) {
    return s.can().proves_session && s.of != kind::latch && s.of != kind::shared_read;
}

std::string text_of(const backend::attempt_answer& a) {
    if (const auto* const no = std::get_if<backend::refused>(&a)) return "refused: " + no->in_one();
    if (const auto* const no = std::get_if<backend::unknown>(&a)) return "unknown: " + no->in_one();
    if (const auto* const no = std::get_if<backend::busy>(&a)) return "held by " + no->holder;
    return "granted";
}

void expect_bound(const config& how, kind of, const lock_name& name) {
    io::reactor reactor;
    const auto opened =
        backends::open({reactor, how, base::client_id::make(), [](const backend::notice&) {}});
    const backend::lock_key key{of, name};
    backend::attempt_request wanted{key, opened->new_owner(key.of, 1), how.lease};
    wanted.total = 1;
    std::promise<backend::attempt_answer> answered;
    const auto begun = boot_clock::now();
    opened->attempt(wanted, begun + patience,
                    [&](backend::attempt_answer a) { answered.set_value(std::move(a)); });
    const auto answer = answered.get_future().get();
    const auto* const yes = std::get_if<backend::granted>(&answer);
    ASSERT_NE(yes, nullptr) << text_of(answer);
    ASSERT_NE(yes->bound, nullptr) << "the lease would be valid after the end of the session";
    EXPECT_LE(yes->bound->until(), boot_clock::now() + opened->session_timeout());
    EXPECT_GT(yes->bound->until(), begun);
}

TEST_P(session_contract, grant_ends_with_the_session) {
    expect_bound(settings(), GetParam().of, stock);
    if (GetParam().of == kind::shared_write) expect_bound(settings(), kind::shared_read, "page:42");
}

HOLDFAST_INSTANTIATE_CONTRACT(session_contract, a_lease_of_a_session);

}  // namespace
}  // namespace holdfast::contract
