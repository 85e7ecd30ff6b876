// A record as bytes: a version, then each field in order. Numbers are little-endian, a text is its size and
// its bytes, a list its size and its elements.
#include "engine/lock_record.hpp"

#include <concepts>
#include <type_traits>

namespace holdfast::engine {

namespace {

using backend::kind;

constexpr std::uint8_t version = 1;

class writer {
  public:
    template <std::integral T>
    void operator()(T value) {
        auto bits = static_cast<std::make_unsigned_t<T>>(value);
        for (std::size_t i = 0; i < sizeof(T); ++i) {
            all_.push_back(static_cast<char>(bits & 0xFFU));
            if constexpr (sizeof(T) > 1) bits >>= 8U;
        }
    }
    void operator()(kind k) { (*this)(static_cast<std::uint8_t>(k)); }
    void operator()(store_time t) { (*this)(t.time_since_epoch().count()); }
    void operator()(const owner_id& o) {
        (*this)(static_cast<std::uint32_t>(o.str().size()));
        all_ += o.str();
    }
    template <class List, class Element>
    void list(const List& all, const Element& element) {
        (*this)(static_cast<std::uint32_t>(all.size()));
        for (const auto& one : all) element(one);
    }

    [[nodiscard]] std::string take() { return std::move(all_); }

  private:
    std::string all_;
};

// After the first invalid value it reads zeros, and `good` is false.
class reader {
  public:
    explicit reader(std::string_view bytes) : rest_(bytes) {}

    template <std::integral T>
    void operator()(T& to) {
        std::make_unsigned_t<T> bits = 0;
        const auto bytes = take(sizeof(T));
        for (std::size_t i = bytes.size(); i-- > 0;) {
            if constexpr (sizeof(T) > 1) bits <<= 8U;
            bits |= static_cast<std::uint8_t>(bytes[i]);
        }
        to = static_cast<T>(bits);
    }
    void operator()(kind& to) {
        std::uint8_t k = 0;
        (*this)(k);
        expect(k < backend::kinds);
        if (good_) to = static_cast<kind>(k);
    }
    void operator()(store_time& to) {
        store_time::rep t = 0;
        (*this)(t);
        expect(t >= 0);
        to = store_time{store_time::duration{t}};
    }
    void operator()(owner_id& to) {
        std::uint32_t size = 0;
        (*this)(size);
        to = owner_id{std::string{take(size)}};
    }
    // Trusts a size only as far as there are bytes for it.
    template <class List, class Element>
    void list(List& to, const Element& element) {
        std::uint32_t size = 0;
        (*this)(size);
        for (std::uint32_t i = 0; i < size && good_; ++i) element(to.emplace_back());
    }
    void expect(bool so) { good_ = good_ && so; }

    [[nodiscard]] bool good() const { return good_ && rest_.empty(); }

  private:
    std::string_view take(std::size_t size) {
        expect(size <= rest_.size());
        if (!good_) return {};
        const auto taken = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return taken;
    }

    std::string_view rest_;
    bool good_ = true;
};

// The order of the fields, for both directions.
template <class Archive, class Record>
void fields(Archive& a, Record& r) {
    a.list(r.holders, [&](auto& h) {
        a(h.of);
        a(h.owner);
        a(h.expires);
        a(h.holds);
    });
    a.list(r.queue, [&](auto& w) {
        a(w.of);
        a(w.owner);
        a(w.ticket);
        a(w.since);
        a(w.forgotten_at);
    });
    a(r.last_fence);
    a.list(r.operations, [&](auto& o) {
        a(o.id);
        a(o.result);
        a(o.forgotten_at);
    });
}

}  // namespace

std::string to_bytes(const lock_record& r) {
    writer w;
    w(version);
    fields(w, r);
    w(static_cast<std::uint8_t>(r.count.has_value()));
    if (r.count) {
        w(r.count->of);
        w(r.count->value);
    }
    return w.take();
}

std::optional<lock_record> from_bytes(std::string_view bytes) {
    reader in{bytes};
    std::uint8_t written_by = 0;
    in(written_by);
    in.expect(written_by == version);
    lock_record r;
    fields(in, r);
    std::uint8_t counts = 0;
    in(counts);
    in.expect(counts <= 1);
    if (counts == 1) {
        r.count = lock_record::counter{};
        in(r.count->of);
        in(r.count->value);
        in.expect(r.count->value >= -largest_count && r.count->value <= largest_count);
    }
    if (!in.good()) return std::nullopt;
    return r;
}

}  // namespace holdfast::engine
