package determinism

// pureBuiltins have no effect; a panic is a programmer's error, whichever
// element meets it first.
var pureBuiltins = []string{"len", "cap", "min", "max", "append", "make", "new", "real", "imag", "complex", "panic"}

// pureGetters are method names that, without arguments, only read.
var pureGetters = []string{
	"Get*", "Is*", "Has*", "Len", "String", "Error", "Name", "Key", "Keys", "Kind", "DeepCopy*", "Unwrap", "GroupVersionKind",
	"Lock", "Unlock", "RLock", "RUnlock", // taken around a read
}

// pureComparisons are method names that only compare, with any arguments.
var pureComparisons = []string{"Equal", "Compare", "Cmp", "Before", "After", "Matches", "Contains", "Has", "DeepEqual"}

// pureFuncs lists functions and methods of other packages without effects.
var pureFuncs = map[string][]string{
	"bytes":           {"Contains*", "Equal*", "Compare", "Has*", "Index*", "Trim*", "Split*", "Fields*", "Clone", "To*", "Join", "Cut*"},
	"cmp":             {"*"},
	"crypto/hmac":     {"Equal"},
	"crypto/md5":      {"Sum*"},
	"crypto/sha1":     {"Sum*"},
	"crypto/sha256":   {"Sum*"},
	"crypto/sha512":   {"Sum*"},
	"encoding/base64": {"Encoding.EncodeToString", "Encoding.DecodeString", "Encoding.EncodedLen"},
	"encoding/hex":    {"EncodeToString", "DecodeString"},
	"encoding/json":   {"Marshal*", "Valid"},
	"errors":          {"*"},
	"fmt":             {"Sprint*", "Errorf"},
	"maps":            {"Keys", "Values", "All", "Clone", "Collect", "Equal*"},
	"math":            {"*"},
	"math/bits":       {"*"},
	"net/netip":       {"*"},
	"path":            {"*"},
	"path/filepath":   {"Base", "Clean", "Dir", "Ext", "Join", "Match", "Split", "ToSlash", "FromSlash"},
	"reflect":         {"DeepEqual", "TypeOf", "TypeFor"},
	"slices": {"All", "Backward", "BinarySearch*", "Chunk", "Clone", "Collect", "Compare*", "Concat", "Contains*", "Equal*",
		"Index*", "IsSorted*", "Max*", "Min*", "Repeat", "Sorted*", "Values"},
	"sort":         {"Search*", "*AreSorted", "SliceIsSorted", "IsSorted"},
	"strconv":      {"*"},
	"strings":      {"C*", "E*", "F*", "H*", "I*", "J*", "L*", "M*", "Repeat", "Replace*", "S*", "T*", "NewReplacer", "Replacer.Replace"},
	"time":         {"Time.*", "Duration.*", "Month.*", "Weekday.*", "Date", "Unix*", "Parse*"},
	"unicode":      {"*"},
	"unicode/utf8": {"*"},

	"k8s.io/apimachinery/pkg/api/errors":            {"*"},
	"k8s.io/apimachinery/pkg/api/meta":              {"FindStatusCondition", "IsStatusCondition*"},
	"k8s.io/apimachinery/pkg/api/resource":          {"MustParse", "ParseQuantity", "Quantity.Cmp", "Quantity.Sign", "Quantity.Value", "Quantity.MilliValue"},
	"k8s.io/apimachinery/pkg/apis/meta/v1":          {"GetControllerOf*", "IsControlledBy", "NewControllerRef", "NewTime", "NewMicroTime"},
	"k8s.io/apimachinery/pkg/fields":                {"*"},
	"k8s.io/apimachinery/pkg/labels":                {"*"},
	"k8s.io/apimachinery/pkg/runtime/schema":        {"*"},
	"k8s.io/apimachinery/pkg/types":                 {"*"},
	"k8s.io/apimachinery/pkg/runtime":               {"DeepCopyJSON*"},
	"k8s.io/apimachinery/pkg/util/validation":       {"*"},
	"k8s.io/apimachinery/pkg/util/validation/field": {"*"},
	"k8s.io/apimachinery/pkg/util/sets":             {"New*", "List", "KeySet", "Set.Clone", "Set.Union", "Set.Difference", "Set.Intersection"},
	"sigs.k8s.io/controller-runtime/pkg/client":     {"ObjectKeyFromObject"},
	"k8s.io/utils/ptr":                              {"*"},
	"github.com/google/go-cmp/cmp":                  {"Equal", "Diff"},
}
