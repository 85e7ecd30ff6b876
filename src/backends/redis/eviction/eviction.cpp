#include "backends/redis/eviction/eviction.hpp"

#include "backends/redis/inspection/fair_queue.hpp"
#include "backends/redis/inspection/inspection.hpp"
#include "backends/redis/inspection/key_decoder.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/reply_mapping.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

// Releases the lock for one owner after another.
struct removal : std::enable_shared_from_this<removal> {
    store_context& context;
    const release_verb release;
    const lock_name name;
    std::vector<std::string> open;  // not yet looked at
    const time_point deadline;
    handler<result<std::vector<evicted>>> done;
    std::vector<std::pair<kind, std::string>> holding;
    std::vector<evicted> taken_from;

    removal(store_context& s, release_verb r, const lock_name& n, std::vector<std::string> owners,
            time_point d, handler<result<std::vector<evicted>>> h)
        : context(s),
          release(std::move(r)),
          name(n),
          open(std::move(owners)),
          deadline(d),
          done(std::move(h)) {}

    // Each kind of lock has its own release, and only the content of the key shows the kind.
    void start() {
        look(context, name, deadline, [self = shared_from_this()](result<lock_info> seen) {
            if (auto* no = std::get_if<failure>(&seen)) return self->done(std::move(*no));
            const auto& info = std::get<lock_info>(seen);
            if (info.layout == "free") return self->done(std::vector<evicted>{});
            const auto of = kind_shown_as(info.layout);
            // The holders have ended by themselves, and the key has other content now, such as a number of
            // permits.
            if (!of) return self->done(std::vector<evicted>{});
            if (of == kind::native) return self->read_text();
            for (const auto& owner : self->open) {
                if (of != kind::shared_write) {
                    self->holding.emplace_back(*of, owner);
                    continue;
                }
                // The writer may be a reader, too.
                const auto holds = [&](bool writes) {
                    return std::any_of(info.holders.begin(), info.holders.end(),
                                       [&](const auto& h) { return h.owner == owner && h.writes == writes; });
                };
                if (holds(true)) self->holding.emplace_back(kind::shared_write, owner);
                if (holds(false) || !holds(true)) self->holding.emplace_back(kind::shared_read, owner);
            }
            self->next();
        });
    }

    // inspect may show only the beginning of a text; a release compares all of it.
    void read_text() {
        context.db.command(
            {"GET", name.str()}, deadline, [self = shared_from_this()](const redis::outcome& o) {
                if (auto no = failed(o)) return self->done(*std::move(no));
                const auto& reply = std::get<redis::reply>(o);
                const auto text = reply.is_text() ? reply.text() : std::string{};
                const bool named = std::find(self->open.begin(), self->open.end(),
                                             text.substr(0, shown_of_a_string)) != self->open.end();
                if (named && reply.is_text()) self->holding.emplace_back(kind::native, text);
                self->next();
            });
    }

    void next() {
        if (holding.empty()) return done(std::move(taken_from));
        auto [of, owner] = std::move(holding.back());
        holding.pop_back();
        const auto shown = of == kind::native ? owner.substr(0, shown_of_a_string) : owner;
        release({of, name}, owner, deadline, [self = shared_from_this(), shown](const release_answer& a) {
            if (const auto* no = std::get_if<refused>(&a)) return self->done(no->why());
            if (const auto* no = std::get_if<unknown>(&a)) return self->done(*no);
            if (const auto* yes = std::get_if<released>(&a)) self->taken_from.push_back({shown, yes->left});
            self->next();
        });
    }
};

}  // namespace

void ask_to_give_up(store_context& context, wake_channels& channels, backends::confirmed_evictions& confirmed,
                    const lock_name& name, const holder_info& of, time_point deadline,
                    handler<result<asked>> done) {
    const auto to = channels.names_for(name.str());
    // A holder must not be asked before its answer can be received.
    const bool hears = !of.ask_at.empty() && channels.channel_for(name.str())->listen();
    const auto channel = hears ? to.prefix + of.ask_at : std::string{};
    // The client gives up all permits of a lease together and confirms that once.
    const auto& lease = of.lease.empty() ? of.owner : of.lease;
    if (hears) confirmed.expect(lease);
    const auto companions = companion_keys(name.str());
    const auto permit = base::from_hex(of.owner);
    context.db.eval(ref(redis_scripts::evict_ask), std::array<std::string_view, 1>{name.str()},
                    std::array<std::string_view, 8>{of.owner, channel, to.publish, companions[0],
                                                    companions[1], permit, context.short_id, lease},
                    deadline, [&confirmed, lease, done = std::move(done)](const redis::outcome& o) {
                        if (auto no = failed(o)) return done(*std::move(no));
                        const auto parts = std::get<redis::reply>(o).items();
                        if (parts.size() != 3) return done(failure{unexpected_reply()});
                        asked answer{parts[0].integer() == 1,
                                     static_cast<std::uint32_t>(parts[1].integer()),
                                     {},
                                     confirmed.is_confirmed(lease)};
                        if (parts[2].integer() >= 0) answer.left = milliseconds{parts[2].integer()};
                        done(answer);
                    });
}

void evict(store_context& context, release_verb release, const lock_name& name,
           const std::vector<std::string>& owners, time_point deadline,
           handler<result<std::vector<evicted>>> done) {
    std::make_shared<removal>(context, std::move(release), name, owners, deadline, std::move(done))->start();
}

void clear_line(store_context& context, const lock_name& name, const std::vector<std::string>& absent,
                time_point deadline, handler<result<std::vector<std::string>>> done) {
    auto question = absent.empty() ? fair_queue_query{context, name.str()}
                                   : fair_queue_query{context, name.str(), absent};
    const auto call = question.call();
    context.db.eval(call.script, call.keys, call.args, deadline,
                    [done = std::move(done)](const redis::outcome& o) {
                        if (auto no = failed(o)) return done(*std::move(no));
                        done(fair_queue_query::owners(o));
                    });
}

}  // namespace holdfast::redis_backend
