package rest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/seedbed-sim/seedbed/fakes/apiserver"
)

// media is how an answer is written down.
type media uint8

// The media types, in the order in which a real server offers them.
const (
	asJSON media = iota
	asYAML
	asProtobuf
)

// mediaTypes and streamTypes are what a real server offers, as its refusals
// list them. A stream cannot be YAML.
var (
	mediaTypes  = []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML, runtime.ContentTypeProtobuf}
	streamTypes = []string{runtime.ContentTypeJSON + ";stream=watch", runtime.ContentTypeProtobuf + ";stream=watch"}
)

// String returns the media type.
func (m media) String() string { return mediaTypes[m] }

// Conversions that a client may ask for with as=.
const (
	asMetadata     = "PartialObjectMetadata"
	asMetadataList = "PartialObjectMetadataList"
	asTable        = "Table"
)

// format is how an answer is to be written.
type format struct {
	media   media
	pretty  bool
	convert schema.GroupVersionKind // empty: the object itself
}

// is tells whether the object is to be converted to kind.
func (f *format) is(kind string) bool { return f.convert.Kind == kind }

// endpoint says what a path offers: the conversions it knows, and whether
// whole objects have a form in protobuf.
type offer struct {
	converts func(media, schema.GroupVersionKind) bool
	whole    func(media) bool
}

// resourceOffer is that of a resource. Custom resources have no form in
// protobuf, but their metadata has. What can only be asked, and not be read, such as
// a review, has no tables.
func resourceOffer(kind *apiserver.Resource) offer {
	reads := slices.Contains(kind.Verbs, string(apiserver.Get))
	return offer{
		whole: func(m media) bool { return !kind.Custom || m != asProtobuf },
		converts: func(m media, to schema.GroupVersionKind) bool {
			if to.Group != metav1.GroupName || to.Version != "v1" && to.Version != "v1beta1" {
				return false
			}
			switch to.Kind {
			case asMetadata, asMetadataList:
				return true
			case asTable:
				return reads && m != asProtobuf
			}
			return false
		},
	}
}

// plainOffer is that of documents which are never converted, and of errors.
var plainOffer = offer{
	whole:    func(media) bool { return true },
	converts: func(media, schema.GroupVersionKind) bool { return false },
}

// negotiate picks the first clause of the Accept header, by preference, that
// can be served; false if there is none.
func negotiate(r *http.Request, o offer) (format, bool) {
	header := r.Header.Get("Accept")
	if header == "" {
		return format{pretty: wantsPretty(r)}, true
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for m := asJSON; m <= asProtobuf; m++ {
			if !offers(clause, m) {
				continue
			}
			f := format{media: m}
			if f.accept(clause.Params, o) {
				f.pretty = f.pretty || wantsPretty(r)
				return f, true
			}
		}
	}
	return format{}, false
}

// offers tells whether the clause covers m.
func offers(clause goautoneg.Accept, m media) bool {
	kind, sub, _ := strings.Cut(m.String(), "/")
	return clause.Type == kind && (clause.SubType == sub || clause.SubType == "*") || clause.Type == "*" && clause.SubType == "*"
}

// accept reads the parameters of a clause; false if they ask for something that
// is not offered. Unknown ones mean nothing.
func (f *format) accept(params map[string]string, o offer) bool {
	f.convert = schema.GroupVersionKind{Group: params["g"], Version: params["v"], Kind: params["as"]}
	f.pretty = params["pretty"] == "1"
	if stream := params["stream"]; stream != "" && (stream != "watch" || f.media == asYAML) {
		return false
	}
	if params["sv"] != "" && params["sv"] != "v1" {
		return false
	}
	for _, name := range []string{"as", "g", "v"} {
		if _, asked := params[name]; asked {
			return o.converts(f.media, f.convert)
		}
	}
	return o.whole(f.media)
}

// routerAccepts is the first look at the Accept header, by the router of the
// built-in groups, which knows neither application/* nor preferences.
func routerAccepts(r *http.Request, offered []string) bool {
	for clause := range strings.SplitSeq(r.Header.Get("Accept"), ",") {
		kind, _, _ := strings.Cut(clause, ";")
		if kind = strings.TrimSpace(kind); kind == "" || kind == "*/*" || slices.Contains(offered, kind) {
			return true
		}
	}
	return false
}

// wantsPretty tells whether a person reads the answer, as far as the query or the
// name of the client says so.
func wantsPretty(r *http.Request) bool {
	if strings.Contains(r.URL.RawQuery, "pretty") {
		if asked := r.URL.Query().Get("pretty"); asked != "" {
			pretty, _ := strconv.ParseBool(asked) // garbage is a no
			return pretty
		}
	}
	agent := r.UserAgent()
	return strings.HasPrefix(agent, "curl") || strings.HasPrefix(agent, "Wget") || strings.HasPrefix(agent, "Mozilla/5.0")
}
