#include "backends/redis/inspection/inspection.hpp"

#include "backends/redis/inspection/fair_queue.hpp"
#include "backends/redis/inspection/key_decoder.hpp"
#include "backends/redis/wire/fences_per_grant.hpp"
#include "backends/redis/wire/keys.hpp"
#include "backends/redis/wire/reply_mapping.hpp"
#include "base/clock.hpp"

#include <unistd.h>
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <utility>

namespace holdfast::redis_backend {

namespace {

using namespace backend;

constexpr std::string_view connection_prefix = "holdfast:";

constexpr std::size_t waiters_shown = 100;
const std::string last_shown = std::to_string(waiters_shown - 1);

// CLIENT LIST of all servers. If it is forbidden, hosts are unknown, and nothing else is.
struct connected_clients {
    clients known;
    std::vector<std::string> servers;
    std::optional<failure> no_server;
};
void ask_for_clients(store_context& context, time_point until, std::function<void(connected_clients)> done) {
    context.db.command_everywhere(
        std::array<std::string_view, 2>{"CLIENT", "LIST"}, until,
        [done = std::move(done)](const std::vector<redis::database::server_outcome>& all) {
            connected_clients found;
            for (const auto& [server, answer] : all) {
                found.servers.push_back(server);
                const auto* const r = std::get_if<redis::reply>(&answer);
                found.known.all = found.known.all && r != nullptr && !r->is_error();
                if (r == nullptr)
                    found.no_server = failed(answer);
                else if (!r->is_error())
                    parse_clients(r->text(), found.known);
            }
            done(std::move(found));
        });
}

void peek_at(store_context& context, const lock_name& name, holders_shown most, time_point until,
             redis::reply_handler done) {
    const auto companions = companion_keys(name.str());
    std::vector<std::string_view> args(companions.begin(), companions.end());
    if (most == holders_shown::all) args.emplace_back("10000");
    context.db.eval(ref(redis_scripts::peek), std::array<std::string_view, 1>{name.str()}, args, until,
                    std::move(done));
}

// Sends one question after another to the server; each step waits for the answer to the previous one.
struct inspection : std::enable_shared_from_this<inspection> {
    store_context& context;
    lock_name name;
    holders_shown most;
    time_point deadline;
    handler<result<lock_info>> done;
    clients connected;
    lock_info info;

    inspection(store_context& s, const lock_name& n, holders_shown m, time_point d,
               handler<result<lock_info>> h)
        : context(s), name(n), most(m), deadline(d), done(std::move(h)), info{n,  "free", false, {},
                                                                              {}, {},     {},    {}} {}

    // An absent server is reported after the timeout of one answer, however many questions there are.
    [[nodiscard]] time_point soon() const {
        return std::min(deadline, boot_clock::now() + context.answer_timeout);
    }

    void start() {
        ask_for_clients(context, soon(), [self = shared_from_this()](connected_clients found) {
            // In a cluster, other servers than the lock's own do not matter.
            if (found.no_server && found.servers.size() == 1) return self->done(*found.no_server);
            self->connected = std::move(found.known);
            self->peek();
        });
    }

    void peek() {
        peek_at(context, name, most, soon(), [self = shared_from_this()](const redis::outcome& o) {
            if (auto no = failed(o)) return self->done(*std::move(no));
            const auto items = std::get<redis::reply>(o).items();
            if (items.size() == 1) self->info = decode_key(self->name, items[0], self->connected);
            self->queue();
        });
    }

    void queue() {
        const auto key = helper_key('q', name.str());
        context.db.command({"ZRANGE", key, "0", last_shown, "WITHSCORES"}, soon(),
                           [self = shared_from_this(), key](const redis::outcome& o) {
                               if (const auto* r = std::get_if<redis::reply>(&o))
                                   self->read_queue(r->items());
                               self->count_waiters("ZCARD", key, [self] { self->fair_queue(); });
                           });
    }

    void fair_queue() {
        const auto key = redisson_prefixed("redisson_lock_queue", name.str());
        context.db.command({"LRANGE", key, "0", last_shown}, soon(),
                           [self = shared_from_this(), key](const redis::outcome& o) {
                               if (const auto* r = std::get_if<redis::reply>(&o))
                                   self->read_fair_queue(r->items());
                               self->count_waiters("LLEN", key, [self] { self->dead_head(); });
                           });
    }

    // Finds the dead waiters at the head of the queue if the lock is free.
    void dead_head() {
        if (info.layout != "free" || info.queue.empty()) return token();
        const auto question = std::make_shared<fair_queue_query>(context, name.str());
        const auto call = question->call();
        context.db.eval(call.script, call.keys, call.args, soon(),
                        [self = shared_from_this(), question](const redis::outcome& o) {
                            fair_queue_query::read(o, self->info);
                            self->token();
                        });
    }

    // Counts the waiters if the list may not have all of them.
    template <class Next>
    void count_waiters(std::string_view command, const std::string& key, Next next) {
        if (info.queue.size() < waiters_shown) return next();
        context.db.command(
            {command, key}, soon(), [self = shared_from_this(), next](const redis::outcome& o) {
                if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_integer())
                    self->info.more_waiting = static_cast<std::uint64_t>(
                        std::max<std::int64_t>(0, r->integer() - static_cast<std::int64_t>(waiters_shown)));
                next();
            });
    }

    void read_fair_queue(std::span<const redis::reply> items) {
        const auto now = base::wall_microseconds();
        for (const auto& item : items) {
            const auto by = maker_of_redisson_owner(item.text());
            const auto h = holder_of(item.text(), by, connected);
            waiter_info w{h.owner, h.host, h.pid, std::nullopt};
            if (by && by->serial && is_time(*by->serial))
                w.waiting = milliseconds{std::max<std::int64_t>(0, now - *by->serial) / 1000};
            info.queue.push_back(std::move(w));
        }
    }

    void token() {
        const auto key = redisson_prefixed("redisson_lock_token", name.str());
        context.db.command({"GET", key}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_text()) {
                self->info.last_fence = number<std::uint64_t>(r->text());
            }
            self->last_fence();
        });
    }

    void read_queue(std::span<const redis::reply> items) {
        // Scores are the server's microseconds; its clock and ours agree well enough for a table.
        const auto now = base::wall_microseconds();
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            const auto h = holder_of(items[i].text(), maker_of_token(items[i].text()), connected);
            waiter_info w{h.owner, h.host, h.pid, std::nullopt};
            if (const auto score = number<std::int64_t>(items[i + 1].text())) {
                w.waiting = milliseconds{std::max<std::int64_t>(0, now - *score) / 1000};
            }
            info.queue.push_back(std::move(w));
        }
    }

    void last_fence() {
        const auto key = helper_key('f', name.str());
        context.db.command({"GET", key}, soon(), [self = shared_from_this()](const redis::outcome& o) {
            if (const auto* r = std::get_if<redis::reply>(&o); r != nullptr && r->is_text()) {
                if (const auto unit = number<std::uint64_t>(r->text()))
                    self->info.last_fence = *unit * fences_per_grant;
            }
            self->done(std::move(self->info));
        });
    }
};

// Scans one server after another and reads the keys of each page.
struct listing : std::enable_shared_from_this<listing> {
    store_context& context;
    std::vector<std::string> patterns;  // of locks, and of the queues of fair mutexes
    std::size_t pattern = 0;
    listed which;
    time_point deadline;
    handler<result<std::vector<lock_info>>> done;
    clients connected;
    std::vector<std::string> servers;  // not yet scanned to the end; the last is in progress
    std::string cursor = "0";
    std::vector<lock_info> found;
    std::vector<std::shared_ptr<fair_queue_query>> queues;

    listing(store_context& s, const std::string& glob, listed w, time_point d,
            handler<result<std::vector<lock_info>>> h)
        : context(s), which(w), deadline(d), done(std::move(h)) {
        // A Redis glob also has [sets] and \escapes; ours does not.
        std::string names;
        for (const char c : glob) {
            if (c == '[' || c == ']' || c == '\\' || c == '^') names += '\\';
            names += c;
        }
        patterns.push_back(names);
        // A free lock has no key but its queue, which "*" finds, too.
        if (glob != "*") patterns.push_back(redisson_prefixed("redisson_lock_queue", names));
    }

    [[nodiscard]] time_point soon() const {
        return std::min(deadline, boot_clock::now() + context.answer_timeout);
    }

    // Fails if a server does not answer, because an incomplete list would look complete.
    void start() {
        ask_for_clients(context, soon(), [self = shared_from_this()](connected_clients all) {
            if (all.no_server) return self->done(*all.no_server);
            self->connected = std::move(all.known);
            self->servers = std::move(all.servers);
            self->page();
        });
    }

    void page() {
        context.db.command_at(
            servers.back(),
            std::array<std::string_view, 6>{"SCAN", cursor, "MATCH", patterns[pattern], "COUNT", "100"},
            soon(), [self = shared_from_this()](const redis::outcome& o) { self->on_page(o); });
    }

    void on_page(const redis::outcome& o) {
        if (auto no = failed(o)) return done(*std::move(no));
        const auto items = std::get<redis::reply>(o).items();
        if (items.size() != 2) return done(failure{make_error_code(errc::bad_reply), "SCAN"});
        cursor = items[0].text();
        std::map<std::uint16_t, looked_at> by_slot;
        for (const auto& key : items[1].items()) {
            const auto& text = key.text();
            if (auto of = lock_of_fair_queue(text); !of.empty())
                queues.push_back(std::make_shared<fair_queue_query>(context, std::move(of)));
            if (!is_helper(text) && !text.empty() && text.size() <= lock_name::max_size)
                by_slot[context.db.slot_of(text)].names.push_back(text);
        }
        if (by_slot.empty()) return look_at_fair_queues();
        std::vector<looked_at> looks;
        for (auto& [slot, names] : by_slot) looks.push_back(std::move(names));
        std::vector<redis::database::eval_call> calls;
        for (auto& look : looks) calls.push_back(look.call());
        context.db.evals(calls, soon(),
                         [self = shared_from_this(), looks](const std::vector<redis::outcome>& answers) {
                             self->on_looks(looks, answers);
                         });
    }

    // Keys of one slot, for one script.
    struct looked_at {
        std::vector<std::string> names;
        std::vector<std::string> companions;
        std::vector<std::string_view> keys, args;

        redis::database::eval_call call() {
            for (const auto& name : names)
                for (auto& key : companion_keys(name)) companions.push_back(std::move(key));
            keys.assign(names.begin(), names.end());
            args.assign(companions.begin(), companions.end());
            return {ref(redis_scripts::peek), keys, args};
        }
    };

    void on_looks(const std::vector<looked_at>& looks, const std::vector<redis::outcome>& answers) {
        for (std::size_t l = 0; l < looks.size(); ++l) {
            if (auto no = failed(answers[l])) return done(*std::move(no));
            const auto seen = std::get<redis::reply>(answers[l]).items();
            const auto& names = looks[l].names;
            for (std::size_t i = 0; i < std::min(seen.size(), names.size()); ++i) {
                auto info = decode_key(lock_name{names[i]}, seen[i], connected);
                const bool foreign = which == listed::foreign_texts && may_be_foreign_lock(info);
                if (is_lock(info) || foreign) found.push_back(std::move(info));
            }
        }
        look_at_fair_queues();
    }

    // Reads the queues on this page. A queue adds nothing to a held lock.
    void look_at_fair_queues() {
        if (queues.empty()) return next();
        std::vector<redis::database::eval_call> calls;
        for (const auto& one : queues) calls.push_back(one->call());
        context.db.evals(calls, soon(),
                         [self = shared_from_this()](const std::vector<redis::outcome>& answers) {
                             for (std::size_t i = 0; i < std::min(answers.size(), self->queues.size()); ++i) {
                                 lock_info info{lock_name{self->queues[i]->name()}, "free"};
                                 fair_queue_query::read(answers[i], info);
                                 if (info.dead_waiters > 0) self->found.push_back(std::move(info));
                             }
                             self->queues.clear();
                             self->next();
                         });
    }

    void next() {
        if (cursor == "0" && ++pattern == patterns.size()) {
            servers.pop_back();
            pattern = 0;
        }
        if (!servers.empty()) return page();
        // SCAN may return a key twice, and so may two servers while its slot moves.
        std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
        found.erase(std::unique(found.begin(), found.end(),
                                [](const auto& a, const auto& b) { return a.name == b.name; }),
                    found.end());
        done(std::move(found));
    }
};

}  // namespace

void inspect(store_context& context, const lock_name& name, holders_shown most, time_point deadline,
             handler<result<lock_info>> done) {
    std::make_shared<inspection>(context, name, most, deadline, std::move(done))->start();
}

void look(store_context& context, const lock_name& name, time_point deadline,
          handler<result<lock_info>> done) {
    peek_at(context, name, holders_shown::some, deadline,
            [name, done = std::move(done)](const redis::outcome& o) {
                if (auto no = failed(o)) return done(*std::move(no));
                const auto items = std::get<redis::reply>(o).items();
                if (items.size() != 1) return done(failure{unexpected_reply()});
                done(decode_key(name, items[0], {}));
            });
}

void list(store_context& context, const std::string& glob, listed which, time_point deadline,
          handler<result<std::vector<lock_info>>> done) {
    std::make_shared<listing>(context, glob, which, deadline, std::move(done))->start();
}

std::string connection_name(std::string_view short_id, std::string_view program) {
    std::array<char, 256> host{};
    ::gethostname(host.data(), host.size() - 1);
    const auto plain = [](std::string_view text) {
        // CLIENT SETNAME takes no spaces and no control characters; ':' separates our fields.
        std::string out;
        for (const char c : text.substr(0, 64)) {
            const bool fine = c > ' ' && c < 127 && c != ':';
            out += fine ? c : '_';
        }
        return out;
    };
    std::string name{connection_prefix};
    name.append(short_id)
        .append(":")
        .append(std::to_string(::getpid()))
        .append(":")
        .append(plain(host.data()));
    return name.append(":").append(plain(program));
}

}  // namespace holdfast::redis_backend
