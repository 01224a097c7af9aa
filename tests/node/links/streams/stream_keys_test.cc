// Properties of the keys of streams: both ends agree on one key, which no other stream has, and only it proves a
// preamble.
#include "node/links/streams/stream_keys.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/keys/word_lines.h"

namespace troupe {
namespace {

BOOST_AUTO_TEST_SUITE(stream_keys)

using namespace detail;

// The keys of Alice and Bob in RFC 7748, section 6.1.
constexpr std::string_view kAliceSecret = "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a";
constexpr std::string_view kAliceShare = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a";
constexpr std::string_view kBobSecret = "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb";
constexpr std::string_view kBobShare = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f";

std::array<std::byte, 32> bytes_of(std::string_view hex) {
  std::array<std::byte, 32> bytes{};
  BOOST_REQUIRE_EQUAL(hex.size(), 2 * bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(std::stoul(std::string(hex.substr(2 * i, 2)), nullptr, 16));
  return bytes;
}

StreamSecret alice() { return StreamSecret::from_bytes(bytes_of(kAliceSecret)); }
StreamSecret bob() { return StreamSecret::from_bytes(bytes_of(kBobSecret)); }

PublicKey public_key_of(int each) {
  PublicKey key;
  key.bytes.fill(static_cast<std::byte>(each));
  return key;
}

/// Terms of a stream from Alice to Bob.
StreamTerms some_terms() {
  StreamTerms terms{.cipher = Cipher::aes256_gcm,
                    .opener = {"trainer", {.high = 1, .low = 2}},
                    .acceptor = {"ps0", {.high = 3, .low = 4}},
                    .opener_key = public_key_of(0x0a),
                    .acceptor_key = public_key_of(0x0b),
                    .opener_share = alice().share(),
                    .acceptor_share = bob().share()};
  for (std::size_t i = 0; i < terms.id.size(); ++i) terms.id[i] = static_cast<std::byte>(i);
  return terms;
}

std::string hex_of_key(const std::optional<StreamKey>& key) {
  BOOST_REQUIRE(key.has_value());
  return hex_of(key->bytes());
}

StreamKey some_key() { return alice().agree(bob().share(), some_terms()).value(); }

StreamKey other_key() {
  StreamTerms terms = some_terms();
  terms.cipher = Cipher::chacha20_poly1305;
  return alice().agree(bob().share(), terms).value();
}

/// A term that is not what the other end has.
struct OtherTerm {
  std::string_view name;
  std::function<void(StreamTerms&)> make;
};

std::vector<OtherTerm> other_terms() {
  return {{"first byte of the id", [](StreamTerms& terms) { terms.id.front() ^= std::byte{1}; }},
          {"last byte of the id", [](StreamTerms& terms) { terms.id.back() ^= std::byte{1}; }},
          {"another cipher", [](StreamTerms& terms) { terms.cipher = Cipher::chacha20_poly1305; }},
          {"no cipher", [](StreamTerms& terms) { terms.cipher = Cipher::none; }},
          {"opener's name", [](StreamTerms& terms) { terms.opener.name = "trainex"; }},
          {"acceptor's name", [](StreamTerms& terms) { terms.acceptor.name = "ps1"; }},
          {"high half of the opener's life", [](StreamTerms& terms) { ++terms.opener.incarnation.high; }},
          {"low half of the opener's life", [](StreamTerms& terms) { ++terms.opener.incarnation.low; }},
          {"high half of the acceptor's life", [](StreamTerms& terms) { ++terms.acceptor.incarnation.high; }},
          {"low half of the acceptor's life", [](StreamTerms& terms) { ++terms.acceptor.incarnation.low; }},
          {"halves of the opener's life swapped",
           [](StreamTerms& terms) { std::swap(terms.opener.incarnation.high, terms.opener.incarnation.low); }},
          {"opener's public key", [](StreamTerms& terms) { terms.opener_key->bytes.back() ^= std::byte{1}; }},
          {"acceptor's public key", [](StreamTerms& terms) { terms.acceptor_key->bytes.back() ^= std::byte{1}; }},
          {"opener without a public key", [](StreamTerms& terms) { terms.opener_key.reset(); }},
          {"acceptor without a public key", [](StreamTerms& terms) { terms.acceptor_key.reset(); }},
          {"both without a public key",
           [](StreamTerms& terms) {
             terms.opener_key.reset();
             terms.acceptor_key.reset();
           }},
          {"opener's public key is zero", [](StreamTerms& terms) { terms.opener_key = PublicKey{}; }},
          {"opener's share", [](StreamTerms& terms) { terms.opener_share.back() ^= std::byte{1}; }},
          {"acceptor's share", [](StreamTerms& terms) { terms.acceptor_share.back() ^= std::byte{1}; }},
          {"lives swapped", [](StreamTerms& terms) { std::swap(terms.opener, terms.acceptor); }},
          {"public keys swapped", [](StreamTerms& terms) { std::swap(terms.opener_key, terms.acceptor_key); }},
          {"shares swapped", [](StreamTerms& terms) { std::swap(terms.opener_share, terms.acceptor_share); }},
          {"opener and acceptor swapped",
           [](StreamTerms& terms) {
             std::swap(terms.opener, terms.acceptor);
             std::swap(terms.opener_key, terms.acceptor_key);
             std::swap(terms.opener_share, terms.acceptor_share);
           }},
          {"end of one name is the start of the other's", [](StreamTerms& terms) {
             terms.opener.name = "traine";
             terms.acceptor.name = "rps0";
           }}};
}

BOOST_AUTO_TEST_CASE(shares_are_those_of_rfc_7748) {
  BOOST_TEST(hex_of(alice().share()) == kAliceShare);
  BOOST_TEST(hex_of(bob().share()) == kBobShare);
}

// Computed by Python: X25519 of the package cryptography, and keyed BLAKE2b of hashlib over the terms, written with
// struct.
BOOST_AUTO_TEST_CASE(key_and_preamble_are_as_another_program_computes_them) {
  StreamTerms terms = some_terms();
  const StreamKey key = alice().agree(bob().share(), terms).value();
  BOOST_TEST(hex_of(key.bytes()) == "c848c1440a938ccd8e530d8351481f66ab196d4d539c562a245e2b994f19a577");
  BOOST_TEST(hex_of(preamble_of(terms.id, key)) == "000102030405060708090a0b0c0d0e0fdbdeb636ddb04351c6abd817601b46f3");
  terms.opener_key.reset();
  terms.acceptor_key.reset();
  BOOST_TEST(hex_of_key(alice().agree(bob().share(), terms)) ==
             "25211e398da236d9eb0012aceda69eca19a676deca7ad2e3e9137aa1e04838aa");
}

BOOST_AUTO_TEST_CASE(both_ends_agree_on_one_key) {
  for (int i = 0; i < 10; ++i) {
    const StreamSecret opener = StreamSecret::random();
    const StreamSecret acceptor = StreamSecret::random();
    StreamTerms terms = some_terms();
    terms.id = random_stream_id();
    terms.opener_share = opener.share();
    terms.acceptor_share = acceptor.share();
    BOOST_TEST(hex_of_key(opener.agree(acceptor.share(), terms)) == hex_of_key(acceptor.agree(opener.share(), terms)));
  }
}

BOOST_AUTO_TEST_CASE(any_other_term_gives_another_key, *boost::unit_test::label("attack")) {
  std::set<std::string> keys{hex_of(some_key().bytes())};
  for (const OtherTerm& each : other_terms()) {
    StreamTerms terms = some_terms();
    each.make(terms);
    BOOST_TEST_CONTEXT(each.name) {
      const std::string key = hex_of_key(bob().agree(alice().share(), terms));
      BOOST_TEST(key == hex_of_key(alice().agree(bob().share(), terms)));
      BOOST_TEST(keys.insert(key).second);  // nor is it that of another change
    }
  }
}

BOOST_AUTO_TEST_CASE(same_terms_with_another_secret_give_another_key, *boost::unit_test::label("attack")) {
  const std::string key = hex_of(some_key().bytes());
  BOOST_TEST(hex_of_key(StreamSecret::random().agree(bob().share(), some_terms())) != key);
  BOOST_TEST(hex_of_key(StreamSecret::random().agree(alice().share(), some_terms())) != key);
}

BOOST_AUTO_TEST_CASE(shares_and_ids_are_drawn_anew_for_each_stream) {
  std::set<KeyShare> shares;
  std::set<StreamId> ids;
  for (int i = 0; i < 20; ++i) {
    BOOST_TEST(shares.insert(StreamSecret::random().share()).second);
    BOOST_TEST(ids.insert(random_stream_id()).second);
  }
}

BOOST_AUTO_TEST_CASE(weak_shares_are_refused, *boost::unit_test::label("attack")) {
  // The points whose order divides 8 (of the curve or its twist): 0, 1, two of order 8 and p - 1, where p = 2^255 - 19.
  // Then other bytes for the same numbers: p, p + 1, and two with the highest bit, which is ignored.
  for (const std::string_view weak : {"0000000000000000000000000000000000000000000000000000000000000000",
                                      "0100000000000000000000000000000000000000000000000000000000000000",
                                      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                                      "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                                      "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                      "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                      "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                                      "0000000000000000000000000000000000000000000000000000000000000080",
                                      "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b880"}) {
    StreamTerms terms = some_terms();
    terms.acceptor_share = bytes_of(weak);
    BOOST_TEST_CONTEXT(weak) {
      BOOST_TEST(!alice().agree(terms.acceptor_share, terms).has_value());
      BOOST_TEST(!StreamSecret::random().agree(terms.acceptor_share, terms).has_value());
    }
  }
}

BOOST_AUTO_TEST_CASE(preamble_is_proved_by_its_key_only, *boost::unit_test::label("attack")) {
  const StreamId id = some_terms().id;
  const Preamble preamble = preamble_of(id, some_key());
  BOOST_TEST((id_of(preamble) == id));
  BOOST_TEST(is_proved(preamble, some_key()));
  BOOST_TEST(!is_proved(preamble, other_key()));
  BOOST_TEST(is_proved(preamble_of(id, other_key()), other_key()));
  BOOST_TEST(!is_proved(Preamble{}, some_key()));
}

BOOST_AUTO_TEST_CASE(preamble_with_any_bit_flipped_is_not_proved, *boost::unit_test::label("attack")) {
  const StreamKey key = some_key();
  const Preamble preamble = preamble_of(some_terms().id, key);
  for (std::size_t bit = 0; bit < 8 * preamble.size(); ++bit) {
    Preamble flipped = preamble;
    flipped[bit / 8] ^= std::byte{1} << (bit % 8);
    BOOST_TEST_CONTEXT("bit " << bit) { BOOST_TEST(!is_proved(flipped, key)); }
  }
}

constexpr CipherSet kNone = only(Cipher::none);
constexpr CipherSet kAes = only(Cipher::aes256_gcm);
constexpr CipherSet kChaCha = only(Cipher::chacha20_poly1305);

constexpr CipherSet either(CipherSet one, CipherSet other) { return static_cast<CipherSet>(one | other); }

BOOST_AUTO_TEST_CASE(best_cipher_is_aes_then_chacha_of_those_that_both_have) {
  const CipherSet both = either(kAes, kChaCha);
  const CipherSet all = either(both, kNone);
  BOOST_CHECK(best_of(all, all) == Cipher::aes256_gcm);
  BOOST_CHECK(best_of(both, all) == Cipher::aes256_gcm);
  BOOST_CHECK(best_of(all, kChaCha) == Cipher::chacha20_poly1305);
  BOOST_CHECK(best_of(kChaCha, both) == Cipher::chacha20_poly1305);
  BOOST_CHECK(best_of(either(kNone, kChaCha), all) == Cipher::chacha20_poly1305);
}

BOOST_AUTO_TEST_CASE(no_cipher_is_best_only_if_both_ends_agree_to_none, *boost::unit_test::label("attack")) {
  for (unsigned one = 0; one < 8; ++one) {
    for (unsigned other = 0; other < 8; ++other) {
      const auto best = best_of(static_cast<CipherSet>(one), static_cast<CipherSet>(other));
      BOOST_TEST_CONTEXT(one << " and " << other) {
        BOOST_TEST(best.has_value() == ((one & other) != 0));
        BOOST_TEST((best == Cipher::none) == ((one & other) == kNone));  // and nothing better
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(sets_without_a_known_cipher_in_common_have_no_best, *boost::unit_test::label("attack")) {
  BOOST_CHECK(!best_of(kAes, kChaCha));
  BOOST_CHECK(!best_of(kNone, either(kAes, kChaCha)));
  BOOST_CHECK(!best_of(0, 0xFF));
  BOOST_CHECK(!best_of(0xF8, 0xFF));  // bits of no cipher
}

BOOST_AUTO_TEST_CASE(ciphers_that_encrypt_are_chacha_everywhere_and_never_none) {
  BOOST_TEST((encrypting_ciphers() & kChaCha) != 0);
  BOOST_TEST((encrypting_ciphers() & kNone) == 0);
  BOOST_TEST((encrypting_ciphers() & ~either(kAes, kChaCha)) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace troupe
