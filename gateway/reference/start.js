// Shows the API; where the server asks for a key, the page asks for it first and sends it with each request.
const form = document.querySelector("#key");

function show(key) {
  form.hidden = true;
  SwaggerUIBundle({
    url: "/openapi.json",
    domNode: document.querySelector("#api"),
    tryItOutEnabled: true,
    validatorUrl: null,
    requestInterceptor: (request) => {
      if (key) request.headers.Authorization = `Bearer ${key}`;
      return request;
    },
  });
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  show(form.querySelector("input").value);
});

fetch("/openapi.json").then(({ status }) => {
  if (status === 401) form.hidden = false;
  else show("");
});
