// Text ids to codes: Python strings, rows of bytes as numpy has text of fixed width, and columns in arrow's memory.
#include "bindings.hpp"

#include <cstring>
#include <vector>

#include "arrow.hpp"
#include "blocks.hpp"
#include "numbering.hpp"
#include "words.hpp"

namespace jamrank {
namespace {

// The objects in a list, or in the memory of a numpy array of objects.
class Objects {
  public:
    explicit Objects(const nb::object& values) : list_(nullptr) {
        if (PyList_Check(values.ptr())) {
            list_ = values.ptr();
            size_ = nb::len(values);
            return;
        }
        if (PyObject_GetBuffer(values.ptr(), &view_, PyBUF_FULL_RO) != 0) nb::raise_python_error();
        const bool objects = view_.ndim == 1 && view_.format != nullptr && std::strcmp(view_.format, "O") == 0;
        if (!objects) PyBuffer_Release(&view_);
        require(objects, "a list or an array of objects");
        size_ = static_cast<size_t>(view_.shape[0]);
    }
    ~Objects() {
        if (list_ == nullptr) PyBuffer_Release(&view_);
    }
    Objects(const Objects&) = delete;
    Objects& operator=(const Objects&) = delete;

    size_t size() const { return size_; }
    PyObject* operator[](size_t at) const {
#ifndef Py_LIMITED_API
        if (list_ != nullptr) return PyList_GET_ITEM(list_, static_cast<Py_ssize_t>(at));
#else
        if (list_ != nullptr) return PyList_GetItem(list_, static_cast<Py_ssize_t>(at));
#endif
        PyObject* value;
        std::memcpy(&value, static_cast<const char*>(view_.buf) + static_cast<Py_ssize_t>(at) * view_.strides[0], sizeof value);
        return value;
    }

  private:
    PyObject* list_;
    Py_buffer view_;
    size_t size_;
};

// Whether two Python strings are equal; the stable interface of Python has no way to look at their characters.
bool same_text(PyObject* one, PyObject* other) {
    if (one == other) return true;
#ifndef Py_LIMITED_API
    if (PyUnicode_KIND(one) == PyUnicode_KIND(other)) {
        const Py_ssize_t length = PyUnicode_GET_LENGTH(one);
        return length == PyUnicode_GET_LENGTH(other) &&
               std::memcmp(PyUnicode_DATA(one), PyUnicode_DATA(other), static_cast<size_t>(length * PyUnicode_KIND(one))) == 0;
    }
#endif
    return PyUnicode_Compare(one, other) == 0;
}

uint64_t hash_text(PyObject* text) {
#ifndef Py_LIMITED_API
    // Text keeps its hash, unless it has none yet.
    const Py_hash_t known = reinterpret_cast<PyASCIIObject*>(text)->hash;
    if (known != -1) return static_cast<uint64_t>(known);
#endif
    return static_cast<uint64_t>(PyObject_Hash(text));
}

// The codes of objects met lately, by where they are in memory: text that is used again is mostly the same object, which
// then is not looked at. The objects must stay alive.
class Lately {
  public:
    explicit Lately(size_t values) : bits_(values < kMany ? 12 : 15), met_(size_t{1} << bits_) {}

    bool knows(PyObject* value) const { return met_[place(value)].value == value; }
    int32_t code(PyObject* value) const { return met_[place(value)].code; }
    void keep(PyObject* value, int32_t code) { met_[place(value)] = {value, code}; }

  private:
    static constexpr size_t kMany = 1 << 17;
    struct Object {
        PyObject* value = nullptr;
        int32_t code = 0;
    };
    size_t place(PyObject* value) const {
        return (reinterpret_cast<uintptr_t>(value) * uint64_t{0x9E3779B97F4A7C15}) >> (64 - bits_);
    }
    int bits_;
    std::vector<Object> met_;
};

// Codes of Python strings; returns the distinct ones by code, or None where a value is no string.
nb::object code_strings(const nb::object& values, Array<int32_t> codes) {
    constexpr size_t kAhead = 12, kPiece = 1 << 12;
    const Objects objects(values);
    const size_t n = objects.size();
    require(codes.size() == n, "one code a value");
    Numbering<PyObject*> numbering;
    Lately lately(n);
    bool often = true;  // whether objects are met again
    for (size_t begin = 0; begin < n; begin += kPiece) {
        const size_t end = std::min(begin + kPiece, n);
        size_t again = 0;
        for (size_t v = begin; v < end; ++v) {
            if (v + kAhead < n) {
                // Most texts lie in two lines of the cache.
                const char* next = reinterpret_cast<const char*>(objects[v + kAhead]);
                fetch_early(next);
                fetch_early(next + 32);
            }
            PyObject* value = objects[v];
            if (often && value != nullptr && lately.knows(value)) {
                ++again;
                codes.data()[v] = lately.code(value);
                continue;
            }
            // numpy may leave out what it calls None.
            if (value == nullptr || !PyUnicode_CheckExact(value)) return nb::none();
            codes.data()[v] = numbering.number(hash_text(value), value, same_text);
            if (often) lately.keep(value, codes.data()[v]);
        }
        often = often && 4 * again > end - begin;
    }
    nb::list distinct;
    for (PyObject* key : numbering.keys()) distinct.append(nb::handle(key));
    return distinct;
}

// Codes of rows of `width` bytes; `first` gets the first row of each code. Returns how many codes there are.
size_t code_rows(const Array<const uint8_t>& bytes, size_t width, Array<int32_t> codes, Array<int64_t> first, int threads) {
    const size_t n = codes.size(), blocks = block_count(n, 1);
    require(width > 0 && bytes.size() == n * width && first.size() == n, "one code a row");
    nb::gil_scoped_release release;
    const uint8_t* data = bytes.data();
    using Row = const uint8_t*;
    const auto same = [=](Row one, Row other) { return std::memcmp(one, other, width) == 0; };
    std::vector<Numbering<Row>> own(blocks);
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        for (size_t v = span.begin; v < span.end; ++v) {
            const Row row = data + v * width;
            codes.data()[v] = own[block].number(hash_bytes(row, width), row, same);
        }
    });
    Numbering<Row> all;
    std::vector<std::vector<int32_t>> code_of(blocks);
    for (size_t block = 0; block < blocks; ++block)
        for (const Row row : own[block].keys()) code_of[block].push_back(all.number(hash_bytes(row, width), row, same));
    for_blocks(blocks, threads, [&](size_t block) {
        const Span span = span_of(block, blocks, n);
        for (size_t v = span.begin; v < span.end; ++v) codes.data()[v] = code_of[block][codes.data()[v]];
    });
    for (size_t code = 0; code < all.keys().size(); ++code)
        first.data()[code] = static_cast<int64_t>((all.keys()[code] - data) / width);
    return all.keys().size();
}

// Codes of columns of text that come part by part; a part may be dropped after it was coded.
class TextCodes {
  public:
    TextCodes() = default;
    TextCodes(const TextCodes&) = delete;
    TextCodes& operator=(const TextCodes&) = delete;

    // Writes the code of each text, -1 for a missing one.
    void code(const nb::object& column, OutInts codes, int threads) {
        const TextColumn texts(column);
        const size_t n = texts.size(), parts = n < kFew ? 1 : std::min<size_t>(std::max(threads, 1), kMostParts);
        require(codes.size() == n, "one code a text");
        nb::gil_scoped_release release;
        if (met_.size() < parts) met_.resize(parts);
        for_blocks(parts, threads, [&](size_t part) {
            const Span span = span_of(part, parts, n);
            size_t first = 0;
            for (const TextArray& array : texts.arrays) {
                const size_t begin = std::max(span.begin, first), end = std::min(span.end, first + array.size());
                if (begin < end) read(array, begin - first, end - first, met_[part], codes.data() + begin);
                first += array.size();
            }
        });
        for (size_t part = 0; part < parts; ++part) met_[part].merge(all_);
        for_blocks(parts, threads, [&](size_t part) {
            const Span span = span_of(part, parts, n);
            for (size_t v = span.begin; v < span.end; ++v)
                if (codes.data()[v] >= 0) codes.data()[v] = met_[part].common(codes.data()[v]);
        });
    }

    nb::list words() const { return as_list(all_.keys()); }

  private:
    static constexpr size_t kMostParts = 16, kAhead = 64, kFew = 1 << 15;

    // Words are looked up some texts later, when their places in the table have been fetched.
    static void read(const TextArray& array, size_t begin, size_t end, Met& met, int32_t* codes) {
        KeyedWord ahead[kAhead];
        for (; begin < end; begin += kAhead) {
            const size_t count = std::min(kAhead, end - begin);
            for (size_t k = 0; k < count; ++k) {
                // A missing text has no place in memory, where an empty one has.
                ahead[k] = array.missing(begin + k) ? KeyedWord({nullptr, 0}, nullptr) : array.keyed(begin + k);
                met.fetch(ahead[k]);
            }
            for (size_t k = 0; k < count; ++k)
                *codes++ = ahead[k].word.begin == nullptr ? -1 : met.code(ahead[k]);
        }
    }

    std::vector<Met> met_;
    Numbering<Word> all_;
};

}  // namespace

void bind_strings(nb::module_& m) {
    m.def("code_strings", &code_strings);
    m.def("code_rows", &code_rows);
    nb::class_<TextCodes>(m, "TextCodes")
        .def(nb::init<>())
        .def("code", &TextCodes::code)
        .def("words", &TextCodes::words);
}

}  // namespace jamrank
