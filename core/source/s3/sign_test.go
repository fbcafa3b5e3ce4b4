package s3

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The examples of docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html, with their keys.
func TestRequestsAreSignedAsAmazonsExamples(t *testing.T) {
	config := Config{Region: "us-east-1", AccessKey: "AKIAIOSFODNN7EXAMPLE", SecretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		path      string
		query     url.Values
		header    http.Header
		signature string
	}{
		"an object": {
			path: "/test.txt", header: http.Header{"Range": {"bytes=0-9"}},
			signature: "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		},
		"a list": {
			path: "/", query: url.Values{"max-keys": {"2"}, "prefix": {"J"}}, header: http.Header{},
			signature: "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{
				Method: http.MethodGet, Host: "examplebucket.s3.amazonaws.com", Header: c.header,
				URL: &url.URL{RawQuery: canonical(c.query)},
			}
			sign(r, c.path, config, at)
			require.Contains(t, r.Header.Get("Authorization"), "Signature="+c.signature)
		})
	}
}
