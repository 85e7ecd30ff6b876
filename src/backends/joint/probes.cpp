// What a group that changes its mode automatically needs to know of its levels.
#include "backends/joint/automation.hpp"
#include "backends/joint/core.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::joint_backend {

namespace {

constexpr milliseconds probe_lease{2'000};

// All clients use one lock: one for each client would stay in the tables of some levels.
const lock_key& probed_lock() {
    static const lock_key one{kind::native, lock_name{std::string{probe_name}}};
    return one;
}

std::string name_of_host() {
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

}  // namespace

void core::begin_automation() {
    automation_ = std::make_shared<automation>(automation_tools{
        .reactor = given_.reactor,
        .in = *in_,
        .keeper = keeper_,
        .name = "holdfast.health." + wanted.group,
        .client = given_.id.hex(),
        .host = name_of_host(),
        .levels = size(),
        .mode_lease = wanted.mode_lease,
        .down_for = wanted.down_for,
        .healthy_for = wanted.healthy_for,
        .answer_timeout = settings_.answer_timeout,
        .probe =
            [weak = weak_from_this()](std::size_t i, time_point deadline, auto done) {
                if (const auto self = weak.lock(); self && !self->closed())
                    self->try_level(i, deadline, [done = std::move(done)](const std::optional<failure>& no) {
                        // A client without the right to this lock cannot know whether other locks work.
                        done(!no || no->code == condition::misuse);
                    });
            },
        .change =
            [weak = weak_from_this()](const mode_record& from, const needed_levels& to,
                                      const change_signature& by, time_point deadline, auto done) {
                if (const auto self = weak.lock(); self && !self->closed())
                    self->change_mode(from.epoch, from.needed, to, by, changed_by::majority, deadline,
                                      [done = std::move(done)](const result<confirmed_mode>&) { done(); });
            }});
    automation_->begin();
}

// A lock is written and removed: a server that only reads, or that may have forgotten locks, does not work.
void core::try_level(std::size_t i, time_point deadline, handler<std::optional<failure>> done) {
    if (!given_.reactor.in_thread())  // the calling thread lends itself to another level's I/O
        return given_.reactor.post(
            [self = shared_from_this(), i, deadline, done = std::move(done)]() mutable {
                if (self->closed()) return done(closing());
                self->try_level(i, deadline, std::move(done));
            });
    const auto lease = std::min(probe_lease, wanted.levels[i].longest_lease.value_or(probe_lease));
    const attempt_request r{
        .key = probed_lock(), .owner = level(i).new_owner(kind::native, 1), .lease = lease};
    level(i).attempt(
        r, deadline,
        [self = shared_from_this(), i, owner = r.owner, done = std::move(done)](attempt_answer got) mutable {
            self->given_.reactor.post(
                [self, i, owner, done = std::move(done), got = std::move(got)]() mutable {
                    if (self->closed()) return done(closing());
                    const bool is_granted = std::holds_alternative<granted>(got);
                    if (is_granted)
                        self->end_probe(i, owner);
                    else if (std::holds_alternative<unknown>(got))
                        self->undo_soon(i, probed_lock(), owner, probe_lease);
                    if (const auto* const no = std::get_if<refused>(&got)) return done(no->why());
                    if (const auto* const none = std::get_if<unknown>(&got)) return done(*none);
                    done(std::nullopt);
                });
        });
}

void core::end_probe(std::size_t i, const owner_id& owner) {
    level(i).release({probed_lock(), owner}, boot_clock::now() + settings_.answer_timeout,
                     [self = shared_from_this(), i, owner](const release_answer& got) {
                         if (!std::holds_alternative<released>(got) && !std::holds_alternative<not_held>(got))
                             self->undo_soon(i, probed_lock(), owner, probe_lease);
                     });
}

void core::read_health(time_point deadline, handler<result<register_value>> done) {
    given_.reactor.post([self = shared_from_this(), deadline, done = std::move(done)]() mutable {
        if (self->closed()) return done(closing());
        if (self->in_ == nullptr) return done(register_value{});
        self->in_->read("holdfast.health." + self->wanted.group, {}, deadline, std::move(done));
    });
}

}  // namespace holdfast::joint_backend
