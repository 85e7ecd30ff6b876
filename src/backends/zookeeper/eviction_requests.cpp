#include "backends/zookeeper/eviction_requests.hpp"

#include "backends/zookeeper/answers.hpp"
#include "backends/zookeeper/locks_seen.hpp"
#include "backends/zookeeper/node_data.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

struct eviction_requests::asking {
    lock_name name;
    holder_info of;
    time_point deadline;
    handler<result<asked>> done;
    asked answer;
    std::string confirm_at;  // the node that the holder deletes; empty: it was not asked before
    bool written = true;     // the holder has that path, for certain
};

void eviction_requests::ask(const lock_name& name, const holder_info& of, time_point deadline,
                            handler<result<asked>> done) {
    auto a = std::make_shared<asking>(asking{name, of, deadline, std::move(done), {}, {}, true});
    {
        base::guard lock(mutex_);
        if (const auto it = sent_.find(of.owner); it != sent_.end()) {
            a->confirm_at = it->second.path;
            a->written = it->second.written;
        }
    }
    find_holders(session_, paths_, name, deadline, [this, a](result<std::vector<held_node>> found) {
        if (auto* const why = std::get_if<failure>(&found)) return a->done(std::move(*why));
        const auto& holders = std::get<0>(found);
        const auto it = std::find_if(holders.begin(), holders.end(),
                                     [&](const held_node& h) { return h.owner == uuid_of(a->of.owner); });
        a->answer.holds = it != holders.end();
        const auto node = a->answer.holds ? it->path : std::string{};
        if (!a->confirm_at.empty()) return look_for_confirmation(a, node);
        if (!a->answer.holds || a->of.ask_at.empty()) return a->done(a->answer);
        request(a, node);
    });
}

void eviction_requests::look_for_confirmation(const std::shared_ptr<asking>& a, const std::string& node) {
    std::vector<zookeeper::session::call> look;
    look.push_back(
        {zookeeper::exists(a->confirm_at, zookeeper::watch::no), [this, a, node](const answer& seen) {
             if (seen.how != answer::outcome::answered) return a->done(failure_of(seen, a->confirm_at));
             a->answer.gave_up = seen.is(code::no_node);
             if (!a->answer.gave_up && !a->written && !node.empty()) return write(a, node);
             a->answer.listeners = a->answer.holds ? 1 : 0;
             a->done(a->answer);
         }});
    session_->submit(std::move(look), a->deadline);
}

void eviction_requests::request(const std::shared_ptr<asking>& a, const std::string& node) {
    const auto directory = paths_.evictions();
    std::vector<zookeeper::session::call> calls;
    calls.push_back(
        {zookeeper::create(directory, {}, zookeeper::lifetime::container, access_), [](const answer&) {}});
    calls.push_back({zookeeper::create(directory + "/by-", {}, zookeeper::lifetime::ephemeral_sequential,
                                       zookeeper::access::anyone),
                     [this, a, node, directory](const answer& made) {
                         const auto found = made.ok() ? zookeeper::parse_created(made.body) : std::nullopt;
                         if (!found) return a->done(failure_of(made, directory));
                         {
                             base::guard lock(mutex_);
                             sent_[a->of.owner] = {found->path, false};
                         }
                         a->confirm_at = found->path;
                         write(a, node);
                     }});
    session_->submit(std::move(calls), a->deadline);
}

// Once more, if it is not certain that the holder was asked.
void eviction_requests::write(const std::shared_ptr<asking>& a, const std::string& node) {
    std::vector<zookeeper::session::call> calls;
    calls.push_back(
        {zookeeper::set_data(node, std::string{please_release} + ' ' + a->confirm_at, zookeeper::any_version),
         [this, a, node](const answer& set) {
             if (set.how != answer::outcome::answered) return a->done(failure_of(set, node));
             if (set.ok()) {
                 base::guard lock(mutex_);
                 if (const auto it = sent_.find(a->of.owner); it != sent_.end()) it->second.written = true;
             }
             a->answer.listeners = set.ok() ? 1 : 0;
             a->answer.holds = a->answer.holds && !set.is(code::no_node);
             a->done(a->answer);
         }});
    session_->submit(std::move(calls), a->deadline);
}

void eviction_requests::evict(const lock_name& name, const std::vector<std::string>& owners,
                              time_point deadline, handler<result<std::vector<evicted>>> done) {
    auto kept = std::make_shared<handler<result<std::vector<evicted>>>>(std::move(done));
    find_holders(session_, paths_, name, deadline, [=, this](result<std::vector<held_node>> found) {
        if (auto* const why = std::get_if<failure>(&found)) return (*kept)(std::move(*why));
        std::vector<held_node> those;
        for (auto& h : std::get<0>(found)) {
            const auto asked = std::find_if(owners.begin(), owners.end(), [&](const std::string& owner) {
                return uuid_of(owner) == h.owner;
            });
            if (asked != owners.end()) those.push_back({*asked, std::move(h.path)});
        }
        if (those.empty()) return (*kept)(std::vector<evicted>{});
        const auto taken = std::make_shared<std::vector<evicted>>();
        std::vector<zookeeper::session::call> deletions;
        for (std::size_t i = 0; i < those.size(); ++i) {
            const auto& path = those[i].path;
            const bool last = i + 1 == those.size();
            deletions.push_back({zookeeper::remove(path), [=, this, owner = those[i].owner](const answer& a) {
                                     const bool again =
                                         std::any_of(taken->begin(), taken->end(),
                                                     [&](const evicted& e) { return e.owner == owner; });
                                     // Its client learns of it by its next proof, within the session's
                                     // timeout.
                                     if (a.ok() && !again) taken->push_back({owner, session_->timeout()});
                                     if (!last) return;
                                     if (!a.ok() && !a.is(code::no_node) && taken->empty())
                                         return (*kept)(failure_of(a, path));
                                     (*kept)(std::move(*taken));
                                 }});
        }
        session_->submit(std::move(deletions), deadline);
    });
}

void eviction_requests::on_expired() {
    base::guard lock(mutex_);
    sent_.clear();
}

}  // namespace holdfast::zookeeper_backend
