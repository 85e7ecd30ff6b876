#include "support/certificates.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <utility>

namespace holdfast::test {

namespace {

template <class T, auto free>
struct freed {
    void operator()(T* p) const noexcept { free(p); }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY, EVP_PKEY_free>>;
using cert_ptr = std::unique_ptr<X509, freed<X509, X509_free>>;
using file_ptr = std::unique_ptr<std::FILE, freed<std::FILE, std::fclose>>;

template <class T>
T must(T done) {
    if (!done) throw std::runtime_error{"OpenSSL could not make a certificate for the test"};
    return done;
}

key_ptr new_key() {
    const std::unique_ptr<EVP_PKEY_CTX, freed<EVP_PKEY_CTX, EVP_PKEY_CTX_free>> how{
        must(EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nullptr))};
    EVP_PKEY* made = nullptr;
    must(EVP_PKEY_keygen_init(how.get()) == 1 &&
         EVP_PKEY_CTX_set_ec_paramgen_curve_nid(how.get(), NID_X9_62_prime256v1) == 1 &&
         EVP_PKEY_keygen(how.get(), &made) == 1);
    return key_ptr{made};
}

void add_extension(X509* to, X509* issuer, int nid, const std::string& value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, to, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, freed<X509_EXTENSION, X509_EXTENSION_free>> made{
        must(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()))};
    must(X509_add_ext(to, made.get(), -1) == 1);
}

// Not yet signed. Without an issuer the certificate is its own issuer.
cert_ptr new_cert(EVP_PKEY* key, const std::string& name, X509* issuer) {
    cert_ptr made{must(X509_new())};
    X509_set_version(made.get(), X509_VERSION_3);
    std::int32_t serial = 0;
    must(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1);
    ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial & 0x7fffffff);
    X509_gmtime_adj(X509_getm_notBefore(made.get()), -86'400);
    X509_gmtime_adj(X509_getm_notAfter(made.get()), 86'400);
    must(X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                                    reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1);
    X509_set_issuer_name(made.get(), X509_get_subject_name(issuer != nullptr ? issuer : made.get()));
    X509_set_pubkey(made.get(), key);
    return made;
}

certificate write(const std::filesystem::path& base, X509* cert, EVP_PKEY* key) {
    certificate to{base.string() + ".crt", base.string() + ".key"};
    const file_ptr cert_file{must(std::fopen(to.cert.c_str(), "we"))};
    const file_ptr key_file{must(std::fopen(to.key.c_str(), "we"))};
    must(PEM_write_X509(cert_file.get(), cert) == 1);
    must(PEM_write_PrivateKey(key_file.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
    return to;
}

}  // namespace

certificate_authority::certificate_authority(std::filesystem::path folder, const std::string& name)
    : folder_(std::move(folder)), name_(name) {
    auto key = new_key();
    auto cert = new_cert(key.get(), name, nullptr);
    add_extension(cert.get(), cert.get(), NID_basic_constraints, "critical,CA:TRUE");
    add_extension(cert.get(), cert.get(), NID_subject_key_identifier, "hash");
    must(X509_sign(cert.get(), key.get(), EVP_sha256()) != 0);
    own_ = write(folder_ / name, cert.get(), key.get());
    key_ = key.release();
    cert_ = cert.release();
}

certificate_authority::~certificate_authority() {
    X509_free(cert_);
    EVP_PKEY_free(key_);
}

certificate certificate_authority::issue(const std::string& name, const std::string& hosts,
                                         validity when) const {
    return issue(name, hosts, std::chrono::hours{when == validity::over ? -1 : 24});
}

certificate certificate_authority::issue(const std::string& name, const std::string& hosts,
                                         std::chrono::hours left) const {
    const auto key = new_key();
    const auto cert = new_cert(key.get(), name, cert_);
    X509_gmtime_adj(X509_getm_notAfter(cert.get()), static_cast<long>(left.count()) * 3'600);
    add_extension(cert.get(), cert_, NID_subject_alt_name, hosts);
    must(X509_sign(cert.get(), key_, EVP_sha256()) != 0);
    return write(folder_ / (name_ + "-" + name), cert.get(), key.get());
}

}  // namespace holdfast::test
