#include "cli/run/run_log.hpp"

#include "cli/output/format.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <vector>

namespace holdfast::cli {

run_log::run_log(std::optional<int> json_fd, bool verbose) : people_(STDERR_FILENO), verbose_(verbose) {
    if (json_fd) programs_.emplace(*json_fd);
}

run_log::~run_log() {
    people_.finish(std::chrono::milliseconds{200});
    if (programs_) programs_->finish(std::chrono::seconds{1});
}

void run_log::write_event(std::string_view event, const nlohmann::ordered_json& fields) {
    if (!programs_) return;
    nlohmann::ordered_json line{{"event", event}, {"at", iso_time(std::chrono::system_clock::now())}};
    line.update(fields);
    if (programs_->dropped() > 0) line["lines_dropped"] = programs_->dropped();
    programs_->put(one_line(line));
}

void run_log::say(std::string_view sentence) {
    people_.put(fmt::format("holdfast: {}", base::without_controls(sentence)));
}

void run_log::mention(std::string_view sentence) {
    if (verbose_) say(sentence);
}

void run_log::wait(std::initializer_list<int> readable) {
    std::vector<pollfd> all;
    for (const int fd : readable) all.push_back({fd, POLLIN, 0});
    for (auto* sink : {&people_, programs_ ? &*programs_ : nullptr}) {
        if (sink != nullptr && sink->wants_to_write()) all.push_back({sink->fd(), POLLOUT, 0});
    }
    ::poll(all.data(), all.size(), -1);
    people_.flush();
    if (programs_) programs_->flush();
}

}  // namespace holdfast::cli
