package s3

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/goloader/goloader/core/source"
)

const (
	// rolesAfter is how long a machine that had no role is not asked for one again.
	rolesAfter = 5 * time.Minute
	// roleWithin bounds one try, and connectWithin what a network may take that has no such address: elsewhere than in
	// Amazon's cloud nobody answers.
	roleWithin, connectWithin = 5 * time.Second, time.Second
)

// role is whom a machine of Amazon's cloud stands for, where no key is set: the role of a pod (EKS), of a container (ECS) or
// of the machine (EC2). Source: docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html.
type role struct {
	mu    sync.Mutex
	found *credentials.Credentials
	none  time.Time // until when there is none
}

// keys puts the role's keys into a Config; none where there is no role.
func (r *role) keys(ctx context.Context, config *Config) error {
	given := given()
	if !given && (config.Endpoint != "" || config.NoRole == "true") {
		return nil
	}
	// One asks for all. Others wait no longer than their callers do.
	done := make(chan struct{})
	var value credentials.Value
	var err error
	go func() {
		defer close(done)
		r.mu.Lock()
		defer r.mu.Unlock()
		if !given && time.Now().Before(r.none) {
			return
		}
		if r.found == nil {
			r.found = credentials.New(&credentials.IAM{Client: client(given), Endpoint: metadata(given, config.Metadata), Region: config.Region})
		}
		if value, err = r.found.GetWithContext(nil); err != nil && !given {
			r.none, err = time.Now().Add(rolesAfter), nil
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%w: %w: the role that the environment names: %w", fs.ErrPermission, source.ErrTransient, err)
	}
	config.AccessKey, config.SecretKey, config.Token = value.AccessKeyID, value.SecretAccessKey, value.SessionToken
	return nil
}

// given says that the cloud has put a role into the environment of this process. Else its address is only tried.
func given() bool {
	for _, name := range []string{
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}

// metadata is the address that a machine's role is asked of; "": the usual one, or the one in the environment.
func metadata(given bool, endpoint string) string {
	if given {
		return ""
	}
	return endpoint
}

// client asks for roles. Addresses of the machine are not those of a proxy.
func client(given bool) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	if !given {
		transport.Proxy = nil
		transport.DialContext = (&net.Dialer{Timeout: connectWithin}).DialContext
	}
	return &http.Client{Transport: transport, Timeout: roleWithin}
}
