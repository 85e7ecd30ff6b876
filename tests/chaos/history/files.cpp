#include "chaos/history/files.hpp"

#include "chaos/history/layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace holdfast::chaos {

namespace {

constexpr std::string_view saved_magic = "holdfast history 6\n";

[[noreturn]] void no_history(const std::filesystem::path& file, const std::string& why) {
    throw std::runtime_error{file.string() + " is no history: " + why};
}

std::string all_of(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    if (!in) no_history(file, "it cannot be read");
    return {std::istreambuf_iterator<char>{in}, {}};
}

// Writes numbers as they lie in memory, and texts after their length.
class writer {
  public:
    explicit writer(const std::filesystem::path& file) : out_(file, std::ios::binary) {}
    template <class T>
    void put(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        out_.write(reinterpret_cast<const char*>(&value), sizeof value);
    }
    void put(const std::string& text) {
        put(text.size());
        out_.write(text.data(), static_cast<std::streamsize>(text.size()));
    }
    void raw(std::string_view text) { out_.write(text.data(), static_cast<std::streamsize>(text.size())); }
    [[nodiscard]] bool good() { return out_.flush().good(); }

  private:
    std::ofstream out_;
};

class reader {
  public:
    reader(std::string_view bytes, const std::filesystem::path& file) : bytes_(bytes), file_(file) {}
    template <class T>
    [[nodiscard]] T get() {
        static_assert(std::is_trivially_copyable_v<T>);
        T value;
        const auto from = take(sizeof value);
        std::memcpy(&value, from.data(), sizeof value);
        return value;
    }
    [[nodiscard]] std::string text() { return std::string{take(get<std::size_t>())}; }
    [[nodiscard]] std::string_view take(std::size_t n) {
        if (n > bytes_.size()) no_history(file_, "it ends too early");
        const auto part = bytes_.substr(0, n);
        bytes_.remove_prefix(n);
        return part;
    }
    // Reads the number of elements that follow, each of at least one byte.
    [[nodiscard]] std::size_t count() {
        const auto n = get<std::size_t>();
        if (n > bytes_.size()) no_history(file_, "it ends too early");
        return n;
    }

  private:
    std::string_view bytes_;
    const std::filesystem::path& file_;
};

}  // namespace

std::vector<event> read_events(const std::filesystem::path& file) {
    std::ifstream in{file, std::ios::binary};
    if (!in) no_history(file, "it cannot be read");
    std::array<std::uint64_t, 3> head{};
    static_assert(sizeof head == sizeof(recorder_head));
    in.read(reinterpret_cast<char*>(head.data()), sizeof head);
    const auto [magic, size_of_event, begun] = head;
    if (!in || magic == 0) return {};  // its process was killed before it wrote anything
    if (magic != recorder_head::right_magic || size_of_event != sizeof(event))
        no_history(file, "another program wrote it");
    if (begun > (std::filesystem::file_size(file) - sizeof head) / sizeof(event))
        no_history(file, "there was no room for all of " + std::to_string(begun) + " events");
    std::vector<event> all(begun);
    // Not the rest of the file, which is large and empty.
    in.read(reinterpret_cast<char*>(all.data()), static_cast<std::streamsize>(begun * sizeof(event)));
    std::erase_if(all, [](const event& e) { return e.phase == phase::none; });
    return all;
}

std::vector<event> merge(const std::vector<std::vector<event>>& processes) {
    std::vector<event> all;
    for (const auto& one : processes) all.insert(all.end(), one.begin(), one.end());
    std::stable_sort(all.begin(), all.end(), [](const event& a, const event& b) { return a.t < b.t; });
    return all;
}

void save(const history& h, const std::filesystem::path& file) {
    writer out{file};
    out.raw(saved_magic);
    out.put(sizeof(event));
    out.put(h.locks.size());
    for (const auto& l : h.locks) {
        out.put(l.name);
        out.put(l.model);
        out.put(l.fenced);
        out.put(l.permits);
        out.put(l.dead_stay_in_queue);
        out.put(l.best_effort);
        out.put(l.by_votes);
        out.put(l.ends_with_process);
        out.put(l.told_early);
    }
    out.put(h.faults.size());
    for (const auto& f : h.faults) {
        out.put(f.from);
        out.put(f.to);
        out.put(f.what);
        out.put(f.killed);
        out.put(f.struck);
        out.put(f.forgets);
        out.put(f.foreign);
        out.put(f.evicts);
        out.put(f.evicted.size());
        for (const auto& e : f.evicted) out.put(e);
    }
    out.put(h.calm.size());
    for (const auto& c : h.calm) out.put(c);
    out.put(h.events.size());
    for (const auto& e : h.events) out.put(e);
    if (!out.good()) throw std::runtime_error{file.string() + " cannot be written"};
}

history load(const std::filesystem::path& file) {
    const std::string bytes = all_of(file);
    if (!bytes.starts_with(saved_magic)) no_history(file, "it does not begin like one");
    reader in{std::string_view{bytes}.substr(saved_magic.size()), file};
    if (in.get<std::size_t>() != sizeof(event)) no_history(file, "another program wrote it");
    history h;
    for (auto n = in.count(); n > 0; --n) {
        auto& l = h.locks.emplace_back();
        l.name = in.text();
        l.model = in.get<model>();
        l.fenced = in.get<bool>();
        l.permits = in.get<std::uint32_t>();
        l.dead_stay_in_queue = in.get<bool>();
        l.best_effort = in.get<bool>();
        l.by_votes = in.get<bool>();
        l.ends_with_process = in.get<bool>();
        l.told_early = in.get<bool>();
    }
    for (auto n = in.count(); n > 0; --n) {
        auto& f = h.faults.emplace_back();
        f.from = in.get<time_ns>();
        f.to = in.get<time_ns>();
        f.what = in.text();
        f.killed = in.get<std::uint32_t>();
        f.struck = in.get<std::int32_t>();
        f.forgets = in.get<bool>();
        f.foreign = in.get<bool>();
        f.evicts = in.get<std::int32_t>();
        for (auto e = in.count(); e > 0; --e) f.evicted.push_back(in.get<evicted_hold>());
    }
    for (auto n = in.count(); n > 0; --n) h.calm.push_back(in.get<span_of_time>());
    for (auto n = in.count(); n > 0; --n) h.events.push_back(in.get<event>());
    return h;
}

void write_lines(const history& h, const std::filesystem::path& file) {
    std::ofstream out{file};
    const time_ns origin = h.events.empty() ? 0 : h.events.front().t;
    auto f = h.faults.begin();
    for (const auto& e : h.events) {
        for (; f != h.faults.end() && f->from <= e.t; ++f)
            out << "=== " << relative(f->from, origin) << " .. " << relative(f->to, origin) << "  " << f->what
                << '\n';
        out << describe(e, h.locks, origin) << '\n';
    }
    if (!out.flush()) throw std::runtime_error{file.string() + " cannot be written"};
}

}  // namespace holdfast::chaos
