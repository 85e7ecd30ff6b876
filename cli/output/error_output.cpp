#include "cli/output/error_output.hpp"

#include "cli/output/exit_codes.hpp"

#include "base/text.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <new>
#include <system_error>

namespace holdfast::cli {

namespace {

int code_for(const std::error_code& code) {
    if (code.category() != category()) return exit_code::internal;
    switch (static_cast<errc>(code.value())) {
        case errc::invalid_argument:
        case errc::wrong_kind: return exit_code::usage;
        case errc::no_permission:
        case errc::unavailable:
        case errc::out_of_memory:
        case errc::busy_server:
        case errc::not_replicated:
        case errc::too_weak:
        case errc::quarantined:
        case errc::unknown_outcome:
        case errc::lease_too_short:
        case errc::bad_reply: return exit_code::unavailable;
        case errc::lost: return exit_code::lost;
        case errc::timed_out: return exit_code::conflict;
        case errc::would_deadlock:
        case errc::not_owner:
        case errc::forked:
        case errc::closed:
        case errc::cancelled: return exit_code::internal;
    }
    return exit_code::internal;
}

std::string advice_for(const std::error_code& code, store_choice store) {
    if (code.category() != category()) return {};
    const bool files = store == store_choice::files;
    switch (static_cast<errc>(code.value())) {
        case errc::unavailable:
            if (files) return "is the path of the URL right (--url, HOLDFAST_URL)?";
            if (store == store_choice::by_default)
                return "no store was chosen (--url, HOLDFAST_URL): give the URL of a server, or sqlite:PATH "
                       "for a file that the processes of this machine share";
            return "is the server running, and is the URL right (--url, HOLDFAST_URL)?";
        case errc::no_permission:
            if (files) return "check the rights of the path of the URL, and of the files there";
            return "check the user and password of the URL (HOLDFAST_URL, or url in the file of --config), "
                   "and the user's rights";
        case errc::out_of_memory:
            return files ? "make room on the disk of the URL" : "the server needs more memory, or fewer keys";
        case errc::busy_server:
            return files ? "let the process go on that holds the files up, or end it"
                         : "try again when the server is ready";
        case errc::not_replicated: return "check the replicas and their connections";
        case errc::quarantined: return "the quarantine ends by itself: wait longer, or try again later";
        case errc::unknown_outcome:
            return "check with holdfast inspect before you try again; a granted lock expires by itself";
        case errc::lease_too_short: return "the store is slow: give a longer --ttl";
        case errc::wrong_kind: return files ? "" : "holdfast inspect shows what the key holds";
        default: return {};
    }
}

}  // namespace

store_choice store_of(std::string_view url) noexcept {
    const bool files = url.starts_with("sqlite:") || url.starts_with("file:");
    return files ? store_choice::files : store_choice::server;
}

std::string_view missing_resource(const std::error_code& code) noexcept {
    if (code == std::errc::too_many_files_open)
        return "no more files and sockets may be opened here: raise the limit (ulimit -n)";
    if (code == std::errc::too_many_files_open_in_system)
        return "this machine has too many open files: raise the limit (sysctl fs.file-max)";
    if (code == std::errc::resource_unavailable_try_again)
        return "no more threads and processes may be started here: raise the limit (ulimit -u, or pids.max "
               "of the cgroup)";
    if (code == std::errc::not_enough_memory) return "this machine has no memory left";
    return {};
}

int exit_code_for(const std::exception& why) noexcept {
    if (dynamic_cast<const std::bad_alloc*>(&why) != nullptr) return exit_code::system;
    if (const auto* const ours = dynamic_cast<const error*>(&why)) return code_for(ours->code());
    const auto* const refused = dynamic_cast<const std::system_error*>(&why);
    return refused != nullptr && !missing_resource(refused->code()).empty() ? exit_code::system
                                                                            : exit_code::internal;
}

int report_error(int code, const std::string& sentence) {
    fmt::print(stderr, "holdfast: {}\n", base::without_controls(sentence));
    return code;
}

std::string full_message(const error& e) {
    std::string sentence = e.what();
    if (!e.server_text().empty()) sentence += fmt::format(" (the server says: {})", e.server_text());
    return sentence;
}

int report_error(const std::system_error& e) {
    const auto lacking = missing_resource(e.code());
    if (lacking.empty()) return report_error(exit_code_for(e), e.what());
    return report_error(exit_code_for(e), fmt::format("{}; {}", e.what(), lacking));
}

int report_error(const error& e, store_choice store) {
    auto sentence = full_message(e);
    if (const auto advice = advice_for(e.code(), store); !advice.empty()) sentence += "; " + advice;
    return report_error(code_for(e.code()), sentence);
}

}  // namespace holdfast::cli
