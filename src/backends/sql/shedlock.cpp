#include "backends/sql/shedlock.hpp"

#include "backends/common/owner_serials.hpp"
#include "backends/sql/dialect.hpp"
#include "backends/sql/fault_answers.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sql_backend {

namespace {

using namespace backend;

constexpr capabilities what_shedlock_has{.ask_every = milliseconds{200}};

// --- what is in a row ---------------------------------------------------------------------------------

// The holder of a lock, and the time left of its lease.
struct shedlock_row {
    std::string owner;
    milliseconds left{0};
};

// A row that is over is as none.
std::optional<shedlock_row> held_in(const cell& owner, const cell& left) {
    shedlock_row found{owner.value_or(""), milliseconds{number(left)}};
    if (found.left.count() <= 0) return std::nullopt;
    return found;
}

std::optional<shedlock_row> held_in(const rows& all) {
    if (all.empty() || all.front().size() != 2) return std::nullopt;
    return held_in(all.front()[0], all.front()[1]);
}

// Our owners are "<client>|<serial>@<host>:<pid>", so that readers of the table see the host, as they are
// used to.
lock_info describe(const lock_name& name, const std::optional<shedlock_row>& row) {
    lock_info found{name, "free", false, {}, {}, {}, {}, {}};
    if (!row) return found;
    holder_info holder;
    holder.owner = row->owner;
    const auto at = row->owner.find('@');
    const auto colon = row->owner.rfind(':');
    found.ours = row->owner.find('|') < at && at < colon && colon != std::string::npos;
    if (found.ours) {
        holder.host = row->owner.substr(at + 1, colon - at - 1);
        const auto* const end = row->owner.data() + row->owner.size();
        (void)std::from_chars(row->owner.data() + colon + 1, end, holder.pid);
    } else {
        holder.host = row->owner;
    }
    found.layout = found.ours ? "mutex" : "lock of ShedLock";
    found.holders.push_back(std::move(holder));
    found.ttl = row->left;
    return found;
}

// A text for a database ends at its first zero byte, and two names would mean one row.
std::optional<failure> refuse_name(const lock_name& name) {
    if (name.str().find('\0') == std::string::npos) return std::nullopt;
    return failure{
        make_error_code(errc::invalid_argument), "a name in ShedLock's table has no zero byte", {}};
}

// --- the store ----------------------------------------------------------------------------------------

class shedlock_store final : public database_store {
  public:
    shedlock_store(const backends::services& given, shedlock_parts parts)
        : database_store(given.reactor, std::move(parts.statements), std::move(parts.examine)),
          speaks_(parts.speaks),
          client_(given.id.base64url()),
          where_(label_of_this_process(client_)) {}
    ~shedlock_store() override { end_requests(); }

    const capabilities& has() const noexcept override { return what_shedlock_has; }
    owner_id new_owner(kind, std::uint32_t) override {
        const auto me = parse_label(where_);
        return owner_id{client_ + '|' + std::to_string(serials_.next()) + '@' + (me ? me->host : "") + ':' +
                        std::to_string(me ? me->pid : 0)};
    }
    std::string_view unsupported(kind k) const noexcept override {
        if (k == kind::native) return {};
        return "the table of ShedLock has only a mutex without a fence (layout=shedlock)";
    }

    // Reads first: a refused upsert would write, and wait for the disk.
    void attempt(const attempt_request& r, time_point deadline, handler<attempt_answer> done) override {
        if (const auto no = refuse_name(r.key.name)) return done(refused{*no, std::nullopt});
        run(speaks_.look, {parameter::characters(r.key.name.str())}, deadline,
            [this, r, deadline, done = share(std::move(done))](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result))
                    return (*done)(failed<attempt_answer>(*no));
                const auto held = held_in(std::get<rows>(result));
                if (held && held->owner != r.owner.str())
                    return (*done)(busy{held->owner, std::nullopt, {}, milliseconds{0}});
                take(r, held.has_value(), deadline, done);
            });
    }
    void renew(std::span<const renew_request> all, time_point deadline,
               handler<std::vector<renew_answer>> done) override {
        struct batch {
            std::vector<renew_answer> answers;
            std::atomic<std::size_t> left;
            handler<std::vector<renew_answer>> done;
        };
        if (all.empty()) return done({});
        auto shared = std::make_shared<batch>();
        shared->answers.resize(all.size());
        shared->left = all.size();
        shared->done = std::move(done);
        for (std::size_t i = 0; i < all.size(); ++i) {
            const auto& r = all[i];
            run(speaks_.extend, words(r.key.name, r.owner, r.lease), deadline,
                [shared, i, lease = r.lease](const outcome& result) {
                    shared->answers[i] = answer_to_renewal(result, lease);
                    if (--shared->left == 0) shared->done(std::move(shared->answers));
                });
        }
    }
    void release(const release_request& r, time_point deadline, handler<release_answer> done) override {
        run(speaks_.unlock, {parameter::characters(r.key.name.str()), parameter::characters(r.owner.str())},
            deadline, [r, done = share(std::move(done))](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result))
                    return (*done)(failed<release_answer>(*no));
                const auto& found = std::get<rows>(result);
                if (found.empty()) return (*done)(not_held{});
                released yes;
                if (r.evicts && !found.front().empty()) yes.left = milliseconds{number(found.front()[0])};
                (*done)(yes);
            });
    }
    // Waiters poll: see `ask_every`.
    std::unique_ptr<watch_handle> watch(const lock_key&, const owner_id&, handler<watch_event>) override {
        return std::make_unique<watch_handle>();
    }

    // --- for operators -----------------------------------------------------------------------------

    void inspect(const lock_name& name, holders_shown, time_point deadline,
                 handler<result<lock_info>> done) override {
        look(name, deadline,
             [name, done = share(std::move(done))](result<std::optional<shedlock_row>> found) {
                 if (auto* const no = std::get_if<failure>(&found)) return (*done)(std::move(*no));
                 (*done)(describe(name, std::get<0>(found)));
             });
    }
    void list(const std::string& glob, listed, time_point deadline,
              handler<result<std::vector<lock_info>>> done) override {
        list_after({}, std::make_shared<listing>(listing{glob, deadline, {}, std::move(done)}));
    }
    void ask_to_give_up(const lock_name& name, const holder_info& of, time_point deadline,
                        handler<result<asked>> done) override {
        look(name, deadline, [owner = of.owner, done = share(std::move(done))](auto found) {
            if (auto* const no = std::get_if<failure>(&found)) return (*done)(std::move(*no));
            const auto& held = std::get<0>(found);
            asked answer;
            answer.holds = held && held->owner == owner;
            if (answer.holds) answer.left = held->left;
            (*done)(answer);
        });
    }
    void evict(const lock_name& name, const std::vector<std::string>& owners, time_point deadline,
               handler<result<std::vector<evicted>>> done) override {
        look(name, deadline, [this, name, owners, deadline, done = share(std::move(done))](auto found) {
            if (auto* const no = std::get_if<failure>(&found)) return (*done)(std::move(*no));
            const auto& held = std::get<0>(found);
            if (!held || std::find(owners.begin(), owners.end(), held->owner) == owners.end())
                return (*done)(std::vector<evicted>{});
            const owner_id owner{held->owner};
            release({{kind::native, name}, owner, false, true}, deadline,
                    [owner, done](release_answer answer) {
                        if (const auto* const yes = std::get_if<released>(&answer))
                            return (*done)(std::vector{evicted{owner.str(), yes->left}});
                        if (std::holds_alternative<not_held>(answer)) return (*done)(std::vector<evicted>{});
                        if (auto* const no = std::get_if<refused>(&answer)) return (*done)(no->why());
                        (*done)(static_cast<const failure&>(std::get<unknown>(answer)));
                    });
        });
    }
    bool hear_requests_for(const lock_name&) override { return true; }  // nobody can ask

  private:
    struct listing {
        std::string glob;
        time_point deadline;
        std::vector<lock_info> found;
        handler<result<std::vector<lock_info>>> done;
    };

    // The column may have milliseconds only, and databases round: one more makes it no shorter.
    static std::vector<parameter> words(const lock_name& name, const owner_id& owner, milliseconds lease) {
        return {parameter::characters(name.str()), parameter::characters(owner.str()),
                parameter::of(lease.count() + 1)};
    }
    static renew_answer answer_to_renewal(const outcome& result, milliseconds lease) {
        if (const auto* const no = std::get_if<fault>(&result)) return failed<renew_answer>(*no);
        if (std::get<rows>(result).empty()) return not_held{};
        return renewed{lease};
    }

    void take(const attempt_request& r, bool again, time_point deadline,
              const std::shared_ptr<handler<attempt_answer>>& done) {
        run(speaks_.lock, words(r.key.name, r.owner, r.lease), deadline,
            [lease = r.lease, again, done](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result))
                    return (*done)(failed<attempt_answer>(*no));
                if (std::get<rows>(result).empty())
                    return (*done)(busy{{}, std::nullopt, {}, milliseconds{0}});
                granted yes{lease};
                yes.repeated = again;
                (*done)(yes);
            });
    }
    void look(const lock_name& name, time_point deadline,
              std::function<void(result<std::optional<shedlock_row>>)> then) {
        if (const auto no = refuse_name(name)) return then(*no);
        run(speaks_.look, {parameter::characters(name.str())}, deadline,
            [then = std::move(then)](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result)) return then(no->why);
                then(held_in(std::get<rows>(result)));
            });
    }
    void list_after(const std::string& name, const std::shared_ptr<listing>& to) {
        constexpr std::size_t page = 500;
        run(speaks_.scan, {parameter::characters(name), parameter::of(page)}, to->deadline,
            [this, to](const outcome& result) {
                if (const auto* const no = std::get_if<fault>(&result)) return to->done(no->why);
                const auto& all = std::get<rows>(result);
                for (const auto& row : all) {
                    if (row.size() != 3 || !row[0] || !base::glob_match(to->glob, *row[0])) continue;
                    if (auto held = held_in(row[1], row[2]))
                        to->found.push_back(describe(lock_name{*row[0]}, held));
                }
                if (all.size() == page) return list_after(all.back()[0].value_or(""), to);
                to->done(std::move(to->found));
            });
    }

    const shedlock_dialect& speaks_;
    const std::string client_;
    const std::string where_;  // host and process, as a label
    backends::owner_serials serials_;
};

}  // namespace

std::unique_ptr<store> open_shedlock(const backends::services& given, shedlock_parts parts) {
    return std::make_unique<shedlock_store>(given, std::move(parts));
}

}  // namespace holdfast::sql_backend
