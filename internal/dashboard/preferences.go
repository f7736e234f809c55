package dashboard

import "net/http"

// setTheme remembers light, dark or that of the system in a cookie.
func (d *dashboard) setTheme(r *request) (string, error) {
	value := r.PostFormValue("theme")
	if value != "light" && value != "dark" {
		value = "auto"
	}
	r.remember("theme", value)
	return r.back(), nil
}

// setKeys turns the single keys of the script on or off.
func (d *dashboard) setKeys(r *request) (string, error) {
	value := "on"
	if r.PostFormValue("keys") == "off" {
		value = "off"
	}
	r.remember("keys", value)
	return r.back(), nil
}

// remember sets a cookie for a year. The script reads and writes that of the theme, too.
func (r *request) remember(name, value string) {
	http.SetCookie(r.w, &http.Cookie{ //nolint:gosec // nothing secret, and the script reads it
		Name: name, Value: value, Path: "/", MaxAge: 365 * 24 * 3600, SameSite: http.SameSiteStrictMode,
	})
}

// back is the page that a form was on.
func (r *request) back() string {
	if to := localPath(r.PostFormValue("back")); to != "" {
		return to
	}
	return "/"
}
