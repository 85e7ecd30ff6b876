#include "cli/journal.hpp"

#include "cli/output.hpp"

#include "base/text.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <vector>

namespace holdfast::cli {

journal::journal(std::optional<int> json_fd, bool verbose) : people_(STDERR_FILENO), verbose_(verbose) {
    if (json_fd) programs_.emplace(*json_fd);
}

journal::~journal() {
    people_.finish(std::chrono::milliseconds{200});
    if (programs_) programs_->finish(std::chrono::seconds{1});
}

void journal::write_event(std::string_view event, const nlohmann::ordered_json& fields) {
    if (!programs_) return;
    nlohmann::ordered_json line{{"event", event}, {"at", iso_time(std::chrono::system_clock::now())}};
    line.update(fields);
    if (programs_->dropped() > 0) line["lines_dropped"] = programs_->dropped();
    programs_->put(one_line(line));
}

void journal::say(std::string_view sentence) {
    people_.put(fmt::format("holdfast: {}", base::without_controls(sentence)));
}

void journal::mention(std::string_view sentence) {
    if (verbose_) say(sentence);
}

void journal::wait(std::initializer_list<int> readable) {
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
