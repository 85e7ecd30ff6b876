#include "cli/switch/publish.hpp"

#include "cli/commands.hpp"
#include "cli/output/exit_codes.hpp"
#include "cli/output/format.hpp"

#include <holdfast/admin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <iostream>
#include <sstream>

namespace holdfast::cli {

namespace {

std::string contents_of(const std::string& file) {
    std::ifstream opened;
    if (file != "-") opened.open(file);
    std::istream& from = file == "-" ? std::cin : opened;
    std::ostringstream text;
    if (from) text << from.rdbuf();
    if (!from || text.bad()) throw usage_error(fmt::format("cannot read \"{}\"", file));
    return text.str();
}

}  // namespace

int publish(const config& settings, const std::string& file, bool json) {
    if (file.empty())
        throw usage_error("publish needs a file with the document, or - for the standard input");
    const bool is_new = admin::publish_document(settings, contents_of(file));
    if (json)
        fmt::print("{}\n", one_line({{"published", is_new}}));
    else
        fmt::print("{}\n", is_new ? "published: clients read it within 5s" : "it is there already");
    return exit_code::ok;
}

}  // namespace holdfast::cli
