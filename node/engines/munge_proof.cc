#include "node/engines/munge_proof.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "node/keys/word_lines.h"

#if __has_include(<munge.h>)
#include <munge.h>

namespace troupe::detail {
namespace {

constexpr const char* kLibrary = "libmunge.so.2";
constexpr std::size_t kHashBytes = 32;

/// What a credential carries: a user's credentials for other purposes do not begin so.
std::string statement_on(std::string_view text) {
  std::array<std::byte, kHashBytes> hash{};
  crypto_generichash(reinterpret_cast<unsigned char*>(hash.data()), hash.size(),
                     reinterpret_cast<const unsigned char*>(text.data()), text.size(), nullptr, 0);
  return "troupe-record " + hex_of(hash);
}

/// A munged that ends while it is asked must not end this process. Thread rule: the process has one thread.
class WithoutSigpipe {
 public:
  WithoutSigpipe() : before_(::signal(SIGPIPE, SIG_IGN)) {}
  ~WithoutSigpipe() { ::signal(SIGPIPE, before_); }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;

 private:
  sighandler_t before_;
};

/// The functions of the library, which is never unloaded.
struct Munge {
  decltype(&::munge_encode) encode = nullptr;
  decltype(&::munge_decode) decode = nullptr;
  decltype(&::munge_strerror) strerror = nullptr;
  decltype(&::munge_ctx_create) ctx_create = nullptr;
  decltype(&::munge_ctx_destroy) ctx_destroy = nullptr;
  decltype(&::munge_ctx_set) ctx_set = nullptr;
  decltype(&::munge_ctx_strerror) ctx_strerror = nullptr;
};

template <class F>
void load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  if (function == nullptr) throw ProofError(fmt::format("{} has no {}", kLibrary, name));
}

Munge load_munge() {
  void* library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw ProofError(fmt::format("{} cannot be loaded", kLibrary));
  Munge munge;
  load(library, "munge_encode", munge.encode);
  load(library, "munge_decode", munge.decode);
  load(library, "munge_strerror", munge.strerror);
  load(library, "munge_ctx_create", munge.ctx_create);
  load(library, "munge_ctx_destroy", munge.ctx_destroy);
  load(library, "munge_ctx_set", munge.ctx_set);
  load(library, "munge_ctx_strerror", munge.ctx_strerror);
  return munge;
}

class MungeProof final : public RecordProof {
 public:
  /// `socket`: "" is the machine's.
  MungeProof(const Munge& munge, std::string socket) : munge_(munge), socket_(std::move(socket)) {}

  [[nodiscard]] std::string of(std::string_view text) override {
    std::string credential;
    const munge_err_t error = encode(statement_on(text), credential);
    if (error != EMUNGE_SUCCESS) throw ProofError("MUNGE: " + reason_);
    return credential;
  }

  void check(const std::string& proof, std::string_view text) override {
    const WithoutSigpipe safe;
    const Context context = make_context();
    void* payload = nullptr;
    int size = 0;
    uid_t user = static_cast<uid_t>(-1);
    gid_t group = static_cast<gid_t>(-1);
    const munge_err_t error = munge_.decode(proof.c_str(), context.get(), &payload, &size, &user, &group);
    const std::unique_ptr<void, decltype(&std::free)> held(payload, &std::free);
    if (error == EMUNGE_SOCKET) throw ProofError("MUNGE: " + reason(context.get(), error));
    // Keys say which life a record is of: several tasks of a machine read it, and clocks differ.
    const bool is_genuine = error == EMUNGE_SUCCESS || error == EMUNGE_CRED_REPLAYED || error == EMUNGE_CRED_EXPIRED ||
                            error == EMUNGE_CRED_REWOUND;
    if (!is_genuine) {
      const char* hint = error == EMUNGE_CRED_INVALID ? " (do all machines have the same key of MUNGE?)" : "";
      throw std::invalid_argument(fmt::format("MUNGE: {}{}", reason(context.get(), error), hint));
    }
    if (user != geteuid()) {
      throw std::invalid_argument(fmt::format("user {} has written it, expected {}", user, geteuid()));
    }
    const std::string_view said(static_cast<const char*>(payload), static_cast<std::size_t>(size));
    if (said != statement_on(text)) throw std::invalid_argument("its MUNGE credential is of another text");
  }

  /// Returns whether a munged answers.
  [[nodiscard]] bool has_daemon() {
    std::string credential;
    return encode(statement_on(""), credential) != EMUNGE_SOCKET;
  }

  [[nodiscard]] const std::string& last_reason() const { return reason_; }

 private:
  using Context = std::unique_ptr<munge_ctx, decltype(&::munge_ctx_destroy)>;

  [[nodiscard]] Context make_context() const {
    Context context(munge_.ctx_create(), munge_.ctx_destroy);
    if (context == nullptr) throw std::bad_alloc();
    if (!socket_.empty()) munge_.ctx_set(context.get(), MUNGE_OPT_SOCKET, socket_.c_str());
    return context;
  }

  [[nodiscard]] std::string reason(munge_ctx_t context, munge_err_t error) const {
    const char* text = munge_.ctx_strerror(context);
    return text != nullptr ? text : munge_.strerror(error);
  }

  munge_err_t encode(const std::string& statement, std::string& credential) {
    const WithoutSigpipe safe;
    const Context context = make_context();
    munge_.ctx_set(context.get(), MUNGE_OPT_UID_RESTRICTION, geteuid());
    munge_.ctx_set(context.get(), MUNGE_OPT_TTL, static_cast<int>(MUNGE_TTL_MAXIMUM));
    char* made = nullptr;
    const munge_err_t error = munge_.encode(&made, context.get(), statement.data(), static_cast<int>(statement.size()));
    const std::unique_ptr<char, decltype(&std::free)> held(made, &std::free);
    if (error == EMUNGE_SUCCESS) credential = made;
    else reason_ = reason(context.get(), error);
    return error;
  }

  const Munge munge_;
  const std::string socket_;
  std::string reason_;  ///< of the last refusal to encode
};

ProofChoice machines_munge() {
  try {
    auto proof = std::make_shared<MungeProof>(load_munge(), "");
    if (!proof->has_daemon()) return {nullptr, proof->last_reason()};
    return {std::move(proof), ""};
  } catch (const ProofError& error) {
    return {nullptr, error.what()};
  }
}

}  // namespace

ProofChoice munge_proof(const std::string& wanted, Engine engine) {
  if (wanted == "off") return {nullptr, "--munge is off"};
  if (wanted == kMungeDefault) {
    return engine == Engine::slurm ? machines_munge() : ProofChoice{nullptr, "it is no task of Slurm"};
  }
  if (!wanted.starts_with('/')) {
    throw ProofError(fmt::format("--munge is \"{}\", expected auto, off or the absolute path of a socket", wanted));
  }
  auto proof = std::make_shared<MungeProof>(load_munge(), wanted);
  static_cast<void>(proof->of(""));
  return {std::move(proof), ""};
}

}  // namespace troupe::detail

#else

namespace troupe::detail {

ProofChoice munge_proof(const std::string& wanted, Engine) {
  constexpr const char* kNotBuilt = "this build has no MUNGE (munge.h was not there)";
  if (wanted != "off" && wanted != kMungeDefault) throw ProofError(kNotBuilt);
  return {nullptr, kNotBuilt};
}

}  // namespace troupe::detail

#endif
