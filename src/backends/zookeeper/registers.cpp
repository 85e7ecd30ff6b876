#include "backends/zookeeper/registers.hpp"

#include "backends/common/register_version.hpp"
#include "backends/zookeeper/answers.hpp"

#include <array>
#include <cassert>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace holdfast::zookeeper_backend {

using namespace backend;
using zookeeper::answer;
using zookeeper::code;

namespace {

constexpr unsigned most_looks = 100;  // others write meanwhile
constexpr std::string_view before_version = "v-";

std::string node_of(std::uint64_t version) {
    std::array<char, 16> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), version, 16).ptr;
    return std::string{before_version}.append(digits.data(), end);
}

std::optional<std::uint64_t> version_of(std::string_view node) {
    if (!node.starts_with(before_version)) return std::nullopt;
    std::uint64_t version = 0;
    (void)std::from_chars(node.data() + before_version.size(), node.data() + node.size(), version, 16);
    return version != 0 && node_of(version) == node ? std::optional{version} : std::nullopt;
}

// The answer to a transaction, with the error of the step that stopped it as its own.
answer of_transaction(const answer& a) {
    auto how = a;
    if (a.how != answer::outcome::answered) return how;
    if (const auto steps = zookeeper::parse_transaction(a.body)) {
        how.err = code::ok;
        for (const auto& step : *steps)
            if (how.err == code::ok && step.err != code::runtime_inconsistency) how.err = step.err;
    } else if (a.err == code::ok) {  // it may have been carried out
        how.how = answer::outcome::unknown;
        how.why = "the server's answer is none to a transaction";
    }
    return how;
}

}  // namespace

struct registers::asking {
    std::string directory;
    time_point deadline;
    handler<result<register_value>> done;
    unsigned looks = 0;

    [[nodiscard]] std::string path_of(std::uint64_t version) const {
        return directory + '/' + node_of(version);
    }
    // A request that changes nothing, or whose change was refused.
    void fail_to_read(const answer& a) {
        auto why = failure_of(a, directory);
        if (why.code == errc::unknown_outcome) why.code = make_error_code(errc::unavailable);
        done(std::move(why));
    }
    void fail_by_hand() {
        done(failure{errc::wrong_kind,
                     "the node " + directory +
                         " was changed by hand, so its register cannot be read; delete it with its children",
                     {}});
    }
};

registers::request registers::ask(std::string_view name, time_point deadline,
                                  handler<result<register_value>> done) const {
    assert(is_register_name(name));
    return std::make_shared<asking>(asking{paths_.of_register(name), deadline, std::move(done)});
}

registers::registers(std::shared_ptr<zookeeper::session> with, const paths& where, zookeeper::access whom)
    : session_(std::move(with)), paths_(where), access_(whom) {}

void registers::read(std::string_view name, const register_value& known, time_point deadline,
                     handler<result<register_value>> done) {
    const auto r = ask(name, deadline, std::move(done));
    if (known.version == 0) return look(r);
    check_known(r, known);
}

void registers::change(std::string_view name, std::uint64_t expected, std::string_view text,
                       time_point deadline, handler<result<register_value>> done) {
    const auto r = ask(name, deadline, std::move(done));
    const register_value next{backends::next_register_version(expected), std::string{text}};
    const auto made =
        zookeeper::create(r->path_of(next.version), text, zookeeper::lifetime::persistent, access_);
    std::vector<zookeeper::session::call> calls;
    const bool is_first = expected == 0;
    if (is_first) {
        // The base as locks make it: it is never empty once registers are in it.
        for (const auto& directory : paths_.ancestors(paths_.base()))
            calls.push_back({zookeeper::create(directory, {}, zookeeper::lifetime::container, access_),
                             [](const answer&) {}});
        calls.push_back(
            {zookeeper::create(parent_of(r->directory), {}, zookeeper::lifetime::persistent, access_),
             [](const answer&) {}});
    }
    const auto before = is_first
                            ? zookeeper::create(r->directory, {}, zookeeper::lifetime::persistent, access_)
                            : zookeeper::remove(r->path_of(expected), 0);
    calls.push_back(
        {zookeeper::transaction(std::array{before, made}), [this, r, next, is_first](const answer& a) {
             const auto how = of_transaction(a);
             if (how.ok()) return r->done(next);
             if (how.is(is_first ? code::node_exists : code::no_node)) return look(r);
             if (how.is(code::no_node)) return r->done(no_parent(paths_, parent_of(r->directory)));
             if (how.is(code::bad_version)) return r->fail_by_hand();
             r->done(failure_of(how, r->directory));
         }});
    session_->submit(std::move(calls), deadline);
}

void registers::check_known(const request& r, const register_value& known) {
    const std::array only{zookeeper::check(r->path_of(known.version), 0)};
    send(r, zookeeper::transaction(only), [this, r, known](const answer& a) {
        const auto how = of_transaction(a);
        if (how.ok()) return r->done(known);
        if (how.is(code::no_node)) return look(r);
        if (how.is(code::bad_version)) return r->fail_by_hand();
        r->fail_to_read(how);
    });
}

void registers::look(const request& r) {
    if (r->looks++ == most_looks)
        return r->done(failure{errc::busy_server, "others write to " + r->directory, {}});
    send(r, zookeeper::get_children(r->directory, zookeeper::watch::no), [this, r](const answer& a) {
        if (a.is(code::no_node)) return check_absence(r);
        const auto found = a.ok() ? zookeeper::parse_children(a.body) : std::nullopt;
        if (!found) return r->fail_to_read(a);
        if (found->names.size() != 1 || !version_of(found->names[0])) return r->fail_by_hand();
        read_node(r, found->names[0]);
    });
}

void registers::check_absence(const request& r) {
    const std::array only{zookeeper::check(r->directory)};
    send(r, zookeeper::transaction(only), [this, r](const answer& a) {
        const auto how = of_transaction(a);
        if (how.is(code::no_node)) return r->done(register_value{});
        if (how.ok()) return look(r);
        r->fail_to_read(how);
    });
}

void registers::read_node(const request& r, const std::string& node) {
    const auto path = r->directory + '/' + node;
    // What it holds if nobody has replaced it; empty: the server does not have the node.
    const auto found = std::make_shared<std::optional<result<register_value>>>();
    std::vector<zookeeper::session::call> both;
    both.push_back({zookeeper::get_data(path, zookeeper::watch::no), [r, found, node](const answer& a) {
                        if (a.is(code::no_node)) return;
                        auto data = a.ok() ? zookeeper::parse_data(a.body) : std::nullopt;
                        if (data)
                            *found = register_value{*version_of(node), std::move(data->data)};
                        else
                            *found = failure_of(a, r->directory);
                    }});
    const std::array only{zookeeper::check(path, 0)};
    both.push_back({zookeeper::transaction(only), [this, r, found](const answer& a) {
                        const auto how = of_transaction(a);
                        if (how.is(code::no_node) || (how.ok() && !*found)) return look(r);
                        if (how.ok()) return r->done(std::move(**found));
                        if (how.is(code::bad_version)) return r->fail_by_hand();
                        r->fail_to_read(how);
                    }});
    session_->submit(std::move(both), r->deadline);
}

void registers::send(const request& r, zookeeper::request what, zookeeper::session::handler then) {
    std::vector<zookeeper::session::call> one;
    one.push_back({std::move(what), std::move(then)});
    session_->submit(std::move(one), r->deadline);
}

}  // namespace holdfast::zookeeper_backend
