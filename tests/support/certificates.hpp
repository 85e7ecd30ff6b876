// Makes certificates for one test, as PEM files.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace holdfast::test {

// Paths.
struct certificate {
    std::string cert;
    std::string key;
};

// Signs certificates. Throws std::runtime_error when OpenSSL fails.
class certificate_authority {
  public:
    // Writes into `folder`; the file names begin with `name`.
    certificate_authority(std::filesystem::path folder, const std::string& name);
    certificate_authority(const certificate_authority&) = delete;
    certificate_authority& operator=(const certificate_authority&) = delete;
    ~certificate_authority();

    [[nodiscard]] const std::string& file() const noexcept { return own_.cert; }
    [[nodiscard]] const std::string& key_file() const noexcept { return own_.key; }

    enum class validity { now, over };
    // `hosts` as in an extension: "DNS:localhost,IP:127.0.0.1". For servers and clients alike.
    [[nodiscard]] certificate issue(const std::string& name, const std::string& hosts,
                                    validity = validity::now) const;
    // A certificate that ends `left` from now; a negative `left` is in the past.
    [[nodiscard]] certificate issue(const std::string& name, const std::string& hosts,
                                    std::chrono::hours left) const;

  private:
    std::filesystem::path folder_;
    std::string name_;
    evp_pkey_st* key_ = nullptr;
    x509_st* cert_ = nullptr;
    certificate own_;
};

}  // namespace holdfast::test
