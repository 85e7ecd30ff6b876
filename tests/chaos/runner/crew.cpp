#include "chaos/runner/crew.hpp"

#include "chaos/history/files.hpp"

#include <csignal>

namespace holdfast::chaos {

namespace {

std::string ended(std::uint32_t process, int code, const std::string& errors) {
    return "client p" + std::to_string(process) + " ended with " + std::to_string(code) +
           (errors.empty() ? "" : ":\n" + errors);
}

std::chrono::milliseconds left_until(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    return std::max(left, std::chrono::milliseconds{0});
}

}  // namespace

crew::crew(client_settings how, unsigned size, std::filesystem::path folder)
    : how_(std::move(how)), folder_(std::move(folder)) {
    for (unsigned i = 0; i < size; ++i) members_.push_back(start(i));
}

crew::member crew::start(unsigned which) {
    const auto process = ++started_;
    // It asks for short sessions: many of its leases are longer.
    const bool apart = which == 0 && !how_.url_of_first.empty();
    const auto session = apart ? how_.locks.lease / 3 : how_.locks.lease;
    std::vector<std::string> command{"/proc/self/exe",
                                     "--client",
                                     std::to_string(process),
                                     "--subject",
                                     how_.locks.subject,
                                     "--topology",
                                     how_.locks.topology,
                                     "--replicas",
                                     std::to_string(how_.locks.replicas),
                                     "--url",
                                     apart ? how_.url_of_first : how_.locks.url,
                                     "--session",
                                     std::to_string(session.count()),
                                     "--socket",
                                     how_.locks.socket,
                                     "--seed",
                                     std::to_string(how_.seed),
                                     "--lease",
                                     std::to_string(how_.locks.lease.count()),
                                     "--threads",
                                     std::to_string(how_.threads),
                                     "--resource",
                                     how_.resource,
                                     "--locks",
                                     how_.only_locks};
    if (how_.locks.care != precautions::taken) {
        command.push_back("--careless");
        if (const auto name = to_string(how_.locks.care); !name.empty()) command.emplace_back(name);
    }
    return {process, test::child_process{std::move(command)}};
}

void crew::send_round(member& m) {
    files_.push_back(folder_ / (std::to_string(round_) + "." + std::to_string(m.process) + ".events"));
    m.child.write("round " + files_.back().string() + "\n");
}

void crew::begin(std::uint64_t round) {
    round_ = round;
    files_.clear();
    for (auto& m : members_) send_round(m);
}

bool crew::drain(milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    for (auto& m : members_) m.child.write("drain\n");
    bool all = true;
    for (auto& m : members_) all = m.child.wait_for_output("drained\n", left_until(deadline)) && all;
    return all;
}

std::vector<event> crew::collect() {
    std::vector<std::vector<event>> all;
    for (const auto& file : files_) {
        // A client that was killed before it began has no file.
        if (!std::filesystem::exists(file)) continue;
        all.push_back(read_events(file));
        std::filesystem::remove(file);
    }
    return merge(all);
}

std::vector<std::string> crew::dismiss(milliseconds limit) {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    std::vector<std::string> complaints;
    for (auto& m : members_) m.child.close_input();
    for (auto& m : members_) {
        const auto code = m.child.wait(left_until(deadline));
        if (!code)
            complaints.push_back("client p" + std::to_string(m.process) + " does not end");
        else if (*code != 0 && !m.killed)
            complaints.push_back(ended(m.process, *code, m.child.errors()));
    }
    members_.clear();
    return complaints;
}

void crew::stop(unsigned which) { members_.at(which).child.pause(); }
void crew::go_on(unsigned which) { members_.at(which).child.resume(); }

std::uint32_t crew::kill(unsigned which) {
    auto& m = members_.at(which);
    m.killed = true;
    m.child.kill();
    return m.process;
}

void crew::replace(unsigned which) {
    members_.at(which) = start(which);
    send_round(members_[which]);
}

std::vector<std::string> crew::dead() {
    std::vector<std::string> all;
    for (auto& m : members_) {
        const auto code = m.child.wait(milliseconds{0});
        if (code && !m.killed) all.push_back(ended(m.process, *code, m.child.errors()));
    }
    return all;
}

}  // namespace holdfast::chaos
